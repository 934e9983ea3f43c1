#include "recorder/unwind/eh_frame.h"

#include <gtest/gtest.h>

#include "tests/support/cfi_bytes.h"

namespace heaptape::recorder {
namespace {

using tests::Bytes;
using tests::number;
using tests::operator+;

constexpr uint64_t kSection = 0x20000;
constexpr uint64_t kCode = 0x1000;

class EhFrames : public testing::Test {
 protected:
  struct Function {
    uint64_t begin;
    uint64_t end;
    bool operator==(const Function&) const = default;
  };

  std::vector<Function> functions() {
    EhFrame frame(section_.bytes(), section_.address());
    std::vector<Function> result;
    Fde fde;
    while (frame.next(fde)) {
      result.push_back({fde.begin, fde.end});
      terms_ = *fde.terms;
      instruction_bytes_ = fde.instructions.left();
    }
    unreadable_ = frame.unreadable();
    return result;
  }
  // Whether a function is found that stands behind a CIE of this augmentation and data.
  bool takes(const std::string& augmentation, const Bytes& data) {
    section_ = tests::CfiSection(kSection);
    const uint32_t cie = section_.add_cie(augmentation, data);
    section_.add_fde(cie, number(kCode) + number(uint64_t{16}) + Bytes{0});
    return functions() == std::vector<Function>{{kCode, kCode + 16}};
  }

  tests::CfiSection section_{kSection};
  CfaTerms terms_;  // of the last function
  size_t instruction_bytes_ = 0;
  uint64_t unreadable_ = 0;
};

TEST_F(EhFrames, GiveFunctionsInOrder) {
  const uint32_t cie = section_.add_usual_cie();
  section_.add_usual_fde(cie, kCode + 0x100, 0x20, {0, 0, 0});
  section_.add_usual_fde(cie, kCode, 0x10, {0, 0});
  EXPECT_EQ(functions(),
            (std::vector<Function>{{kCode + 0x100, kCode + 0x120}, {kCode, kCode + 0x10}}));
  EXPECT_EQ(instruction_bytes_, 2u);
  EXPECT_EQ(unreadable_, 0u);
}

TEST_F(EhFrames, MayBeEmpty) {
  EXPECT_TRUE(functions().empty());
  section_.add_mark();
  EXPECT_TRUE(functions().empty());
}

TEST_F(EhFrames, GoOnBehindAMark) {
  section_.add_usual_fde(section_.add_usual_cie(), kCode, 0x10);
  section_.add_mark();
  section_.add_usual_fde(section_.add_usual_cie(), kCode + 0x100, 0x10);
  EXPECT_EQ(functions().size(), 2u);
}

TEST_F(EhFrames, EndAtAMarkIfTheirSizeIsUnknown) {
  section_.add_usual_fde(section_.add_usual_cie(), kCode, 0x10);
  const size_t bytes = section_.bytes().size();
  section_.add_mark();
  section_.add({1, 2, 3});
  EXPECT_EQ(up_to_mark(section_.bytes()).size(), bytes + 4);
  EXPECT_EQ(up_to_mark(std::span(section_.bytes()).first(bytes)).size(), bytes);
}

TEST_F(EhFrames, HaveSeveralCies) {
  const uint32_t first = section_.add_usual_cie();
  const uint32_t second = section_.add_cie("zRS", {tests::kPcRelative4});
  section_.add_usual_fde(second, kCode, 0x10);
  EXPECT_EQ(functions().size(), 1u);
  EXPECT_TRUE(terms_.is_signal);
  section_.add_usual_fde(first, kCode + 0x10, 0x10);
  EXPECT_EQ(functions().size(), 2u);
  EXPECT_FALSE(terms_.is_signal);
}

TEST_F(EhFrames, ReadTheTermsOfACie) {
  section_.add_usual_fde(section_.add_usual_cie(), kCode, 0x10);
  functions();
  EXPECT_EQ(terms_.code_factor, 1u);
  EXPECT_EQ(terms_.data_factor, -8);
  EXPECT_EQ(terms_.initial.base, CfaBase::kStack);
  EXPECT_EQ(terms_.initial.cfa_offset, 8);
  EXPECT_EQ(terms_.initial.return_address, (SavedRegister{SavedAt::kCfa, -8}));
}

TEST_F(EhFrames, ReadEachLetterOfAnAugmentation) {
  EXPECT_TRUE(takes("z", {}));
  EXPECT_TRUE(takes("zR", {0x04}));
  EXPECT_TRUE(takes("zPLR", Bytes{0x9b, 1, 2, 3, 4, 0x1b, 0x00}));
  EXPECT_TRUE(takes("zPR", Bytes{0x00} + number(uint64_t{1}) + Bytes{0x00}));
  EXPECT_TRUE(takes("zRSB", {0x00}));
  EXPECT_TRUE(takes("zPR", {0xff, 0x00}));
}

TEST_F(EhFrames, LeaveOutAugmentationsThatTheyDoNotKnow) {
  EXPECT_FALSE(takes("zX", {0}));
  EXPECT_FALSE(takes("R", {0}));
  EXPECT_FALSE(takes("eh", {0}));
  EXPECT_FALSE(takes("zR", {}));
  EXPECT_FALSE(takes("zRRRRRRRRR", Bytes(9, 0)));
  EXPECT_EQ(unreadable_, 1u);
}

TEST_F(EhFrames, NeedNoAugmentation) {
  const uint32_t cie = section_.add_cie("", {});
  section_.add_fde(cie, number(kCode) + number(uint64_t{16}), {0x0e, 16});
  EXPECT_EQ(functions(), (std::vector<Function>{{kCode, kCode + 16}}));
  EXPECT_EQ(instruction_bytes_, 2u);
}

TEST_F(EhFrames, SkipTheAugmentationOfAFunction) {
  const uint32_t cie = section_.add_cie("zR", {0x00});
  section_.add_fde(cie, number(kCode) + number(uint64_t{16}) + Bytes{4, 1, 2, 3, 4}, {0x0e, 16});
  EXPECT_EQ(functions().size(), 1u);
  EXPECT_EQ(instruction_bytes_, 2u);
}

TEST_F(EhFrames, ReadLaterVersionsOfCies) {
  const Bytes factors = {1, 0x78, 16};
  const Bytes version_3 = Bytes{3} + tests::text("") + factors;
  const Bytes version_4 = Bytes{4} + tests::text("") + Bytes{8, 0} + factors;
  for (const Bytes& cie : {version_3, version_4}) {
    section_ = tests::CfiSection(kSection);
    section_.add(number(uint32_t{0}) + cie + tests::kOrdinaryStart);
    section_.add_fde(0, number(kCode) + number(uint64_t{16}));
    EXPECT_EQ(functions().size(), 1u) << int{cie[0]};
  }
}

TEST_F(EhFrames, LeaveOutCiesThatMakeNoSense) {
  const Bytes none = tests::text("");
  for (const Bytes& cie : {Bytes{2} + none + Bytes{1, 0x78, 16},  // a version never used
                           Bytes{1} + none + Bytes{1, 0x78, 15},  // another register
                           Bytes{1} + none + Bytes{0x80, 0x80, 4, 0x78, 16},  // a wild factor
                           Bytes{1, 'z', 'R'}, Bytes{1} + none + Bytes{1, 0x78, 16, 0x0e}}) {
    section_ = tests::CfiSection(kSection);
    section_.add(number(uint32_t{0}) + cie);
    section_.add_fde(0, number(kCode) + number(uint64_t{16}));
    EXPECT_TRUE(functions().empty());
    EXPECT_EQ(unreadable_, 1u);
  }
}

TEST_F(EhFrames, TakeLengthsOf64Bits) {
  const Bytes cie = number(uint64_t{0}) + Bytes{1} + tests::text("") + Bytes{1, 0x78, 16};
  const Bytes fde = number(uint64_t{12 + cie.size() + 12}) + number(kCode) + number(uint64_t{16});
  Bytes bytes;
  for (const Bytes& entry : {cie, fde}) {
    bytes = bytes + number(~uint32_t{0}) + number(uint64_t{entry.size()}) + entry;
  }
  EhFrame frame(bytes, kSection);
  Fde function;
  ASSERT_TRUE(frame.next(function));
  EXPECT_EQ(function.begin, kCode);
}

TEST_F(EhFrames, LeaveOutFunctionsWithoutACie) {
  const uint32_t cie = section_.add_usual_cie();
  section_.add_usual_fde(cie + 1, kCode, 0x10);
  section_.add_usual_fde(0x10000, kCode, 0x10);
  section_.add_usual_fde(cie, kCode, 0x10);
  EXPECT_EQ(functions().size(), 1u);
  EXPECT_EQ(unreadable_, 2u);
}

TEST_F(EhFrames, LeaveOutFunctionsThatMakeNoSense) {
  const uint32_t cie = section_.add_cie("zR", {0x00});
  section_.add_fde(cie, number(kCode));                                           // cut short
  section_.add_fde(cie, number(~uint64_t{0}) + number(uint64_t{16}) + Bytes{0});  // no such memory
  section_.add_fde(cie, number(kCode) + number(uint64_t{16}) + Bytes{9});         // cut short
  section_.add({1});  // no room for a CIE
  EXPECT_TRUE(functions().empty());
  EXPECT_EQ(unreadable_, 4u);
}

TEST_F(EhFrames, EndWhereTheyAreCut) {
  const uint32_t cie = section_.add_usual_cie();
  section_.add_usual_fde(cie, kCode, 0x10);
  section_.add_usual_fde(cie, kCode, 0x10);
  const size_t bytes = section_.bytes().size();
  for (size_t cut = 1; cut < 17; ++cut) {
    EhFrame frame(std::span(section_.bytes()).first(bytes - cut), kSection);
    Fde fde;
    EXPECT_TRUE(frame.next(fde));
    EXPECT_FALSE(frame.next(fde)) << cut;
    EXPECT_EQ(frame.unreadable(), 1u) << cut;
  }
}

}  // namespace
}  // namespace heaptape::recorder
