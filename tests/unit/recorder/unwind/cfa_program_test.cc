#include "recorder/unwind/cfa_program.h"

#include <gtest/gtest.h>

#include <ostream>

#include "tests/support/cfi_bytes.h"

namespace heaptape::recorder {

bool operator==(const CfaRow& a, const CfaRow& b) {
  return a.begin == b.begin && a.end == b.end && a.rule == b.rule && a.why == b.why;
}

std::ostream& operator<<(std::ostream& out, const CfaRow& row) {
  return out << std::hex << row.begin << "-" << row.end << std::dec << " cfa " << int(row.rule.cfa)
             << " " << row.rule.cfa_offset << " frame " << int(row.rule.frame) << " "
             << row.rule.frame_offset << " why " << int(row.why);
}

namespace {

using tests::Bytes;
using tests::operator+;

constexpr uint64_t kBegin = 0x1000;
constexpr uint64_t kEnd = 0x1100;

constexpr UnwindRule kEntry{CfaRule::kStack, FrameRule::kSame, 0, 8};

UnwindRule stack(int32_t offset) {
  return {CfaRule::kStack, FrameRule::kSame, 0, offset};
}

// After "push rbp": at CFA - 16.
UnwindRule pushed(CfaRule cfa, int32_t offset) {
  return {cfa, FrameRule::kAtCfa, -16, offset};
}

class CfaPrograms : public testing::Test {
 protected:
  CfaPrograms() { EXPECT_TRUE(begin_with(tests::kOrdinaryStart)); }

  bool begin_with(const Bytes& instructions) {
    terms_.initial = {};
    return CfaProgram().run_initial(terms_, {instructions, 0});
  }
  std::vector<CfaRow> run(const Bytes& instructions) {
    program_.start(terms_, {instructions, 0x500}, kBegin, kEnd);
    std::vector<CfaRow> rows;
    CfaRow row;
    while (program_.next(row)) rows.push_back(row);
    return rows;
  }
  // What a program says that does not advance.
  CfaRow only_row(const Bytes& instructions) {
    const std::vector<CfaRow> rows = run(instructions);
    EXPECT_EQ(rows.size(), 1u);
    return rows.front();
  }
  UnwindRule rule(const Bytes& instructions) { return only_row(instructions).rule; }
  NoRule why(const Bytes& instructions) {
    const CfaRow row = only_row(instructions);
    EXPECT_EQ(row.rule, UnwindRule{});
    return row.why;
  }

  CfaTerms terms_;
  CfaProgram program_;
};

TEST_F(CfaPrograms, WithoutInstructionsHaveTheRowOfTheirCie) {
  EXPECT_EQ(only_row({}), (CfaRow{kBegin, kEnd, kEntry}));
  EXPECT_EQ(only_row({0, 0, 0}), (CfaRow{kBegin, kEnd, kEntry}));
}

TEST_F(CfaPrograms, FollowAFunctionWithAFramePointer) {
  // push rbp; mov rbp, rsp; ...; leave; ret
  const auto rows = run({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0xf0, 0x0c, 7, 8, 0xc6});
  const std::vector<CfaRow> expected = {{kBegin, kBegin + 1, kEntry},
                                        {kBegin + 1, kBegin + 4, pushed(CfaRule::kStack, 16)},
                                        {kBegin + 4, kBegin + 0xf4, pushed(CfaRule::kFrame, 16)},
                                        {kBegin + 0xf4, kEnd, kEntry}};
  EXPECT_EQ(rows, expected);
}

TEST_F(CfaPrograms, AdvanceByEachWidth) {
  for (const Bytes& advance :
       {Bytes{0x50}, Bytes{0x02, 0x10}, Bytes{0x03, 0x10, 0}, Bytes{0x04, 0x10, 0, 0, 0},
        Bytes{0x1d, 0x10, 0, 0, 0, 0, 0, 0, 0}, Bytes{0x01} + tests::number(kBegin + 0x10)}) {
    const auto rows = run(advance + Bytes{0x0e, 32});
    ASSERT_EQ(rows.size(), 2u) << int{advance[0]};
    EXPECT_EQ(rows[0], (CfaRow{kBegin, kBegin + 0x10, kEntry}));
    EXPECT_EQ(rows[1], (CfaRow{kBegin + 0x10, kEnd, stack(32)}));
  }
}

TEST_F(CfaPrograms, SetTheirLocationAsTheirPointersAre) {
  terms_.pointer_encoding = tests::kPcRelative4;
  // The number stands at 0x501.
  const auto rows = run(Bytes{0x01} + tests::number(uint32_t{kBegin + 0x10 - 0x501}));
  EXPECT_EQ(rows.front().end, kBegin + 0x10);
}

TEST_F(CfaPrograms, MultiplyAdvancesByTheCodeFactor) {
  terms_.code_factor = 4;
  EXPECT_EQ(run({0x44, 0x0e, 32}).front().end, kBegin + 16);
}

TEST_F(CfaPrograms, EndWithTheCode) {
  for (const Bytes& advance : {Bytes{0x03, 0x00, 0x01}, Bytes{0x04, 0xff, 0xff, 0xff, 0xff},
                               Bytes{0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                               Bytes{0x01} + tests::number(kEnd + 5)}) {
    EXPECT_EQ(only_row(advance + Bytes{0x0e, 32}), (CfaRow{kBegin, kEnd, kEntry}));
  }
}

TEST_F(CfaPrograms, DefineTheCfa) {
  EXPECT_EQ(rule({0x0c, 6, 16}), (UnwindRule{CfaRule::kFrame, FrameRule::kSame, 0, 16}));
  EXPECT_EQ(rule({0x12, 7, 0x7d}), stack(24));  // in units of -8
  EXPECT_EQ(rule({0x0e, 0x80, 0x02}), stack(256));
  EXPECT_EQ(rule({0x13, 0x7c}), stack(32));
  EXPECT_EQ(rule({0x0d, 6}), (UnwindRule{CfaRule::kFrame, FrameRule::kSame, 0, 8}));
}

TEST_F(CfaPrograms, SayWhereTheFramePointerIsSaved) {
  const UnwindRule saved{CfaRule::kStack, FrameRule::kAtCfa, -24, 8};
  EXPECT_EQ(rule({0x86, 3}), saved);
  EXPECT_EQ(rule({0x05, 6, 3}), saved);
  EXPECT_EQ(rule({0x11, 6, 3}), saved);
  EXPECT_EQ(rule({0x2f, 6, 3}), (UnwindRule{CfaRule::kStack, FrameRule::kAtCfa, 24, 8}));
  EXPECT_EQ(rule({0x10, 6, 2, 0x76, 0x70}),
            (UnwindRule{CfaRule::kStack, FrameRule::kAtFrame, -16, 8}));
}

TEST_F(CfaPrograms, LeaveTheFramePointerWhereNothingElseIsKnown) {
  EXPECT_EQ(rule({0x86, 3, 0x08, 6}), kEntry);  // same value
  EXPECT_EQ(rule({0x86, 3, 0x07, 6}), kEntry);  // undefined
  EXPECT_EQ(rule({0x86, 3, 0xc6}), kEntry);     // restore
  EXPECT_EQ(rule({0x86, 3, 0x06, 6}), kEntry);  // restore, extended
}

TEST_F(CfaPrograms, RestoreWhatTheirCieSays) {
  ASSERT_TRUE(begin_with(tests::kOrdinaryStart + Bytes{0x86, 2}));
  EXPECT_EQ(rule({0x86, 3, 0xc6}), pushed(CfaRule::kStack, 8));
}

TEST_F(CfaPrograms, PassOverOtherRegistersAndWhatIsOfOtherMachines) {
  EXPECT_EQ(rule({0x83, 2, 0x05, 12,   3, 0x11, 13,   3,  0x2f, 14,   3, 0x07, 0,
                  0x08, 1, 0x09, 2,    3, 0xc3, 0x06, 12, 0x10, 3,    2, 0x77, 0,
                  0x14, 3, 1,    0x15, 3, 1,    0x16, 3,  2,    0x77, 0}),
            kEntry);
  EXPECT_EQ(rule({0x2d, 0x2e, 0x20}), kEntry);
}

TEST_F(CfaPrograms, RememberAndRestoreAllOfTheState) {
  // The epilogue in the middle of a function: remembered before, restored behind.
  const auto rows = run({0x41, 0x0e, 16, 0x86, 2, 0x42, 0x0a, 0x0c, 7, 8, 0xc6, 0x43, 0x0b});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[2].rule, kEntry);
  EXPECT_EQ(rows[3].rule, pushed(CfaRule::kStack, 16));
}

TEST_F(CfaPrograms, RememberStatesInStates) {
  EXPECT_EQ(rule({0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x0b}), stack(16));
  EXPECT_EQ(rule({0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x0b, 0x0b}), stack(8));
}

TEST_F(CfaPrograms, RememberNothingOfTheFunctionBefore) {
  EXPECT_EQ(rule({0x0e, 16, 0x0a, 0x0a}), stack(16));
  EXPECT_EQ(why({0x0b}), NoRule::kDamaged);
  EXPECT_EQ(rule(Bytes(32, 0x0a)), kEntry);
  EXPECT_EQ(rule(Bytes(32, 0x0a)), kEntry);
}

TEST_F(CfaPrograms, EndTheStackWhereTheReturnAddressIsUndefined) {
  EXPECT_EQ(rule({0x07, 16}), UnwindRule{CfaRule::kEnd});
  EXPECT_EQ(rule({0x07, 16, 0x0c, 3, 8}), UnwindRule{CfaRule::kEnd});
}

TEST_F(CfaPrograms, HaveNoRuleForWhatWalksDoNotKnow) {
  EXPECT_EQ(why({0x0c, 10, 0}), NoRule::kCfaRegister);
  EXPECT_EQ(why({0x0d, 5}), NoRule::kCfaRegister);
  EXPECT_EQ(why({0x90, 2}), NoRule::kReturnAddress);
  EXPECT_EQ(why({0x09, 16, 2}), NoRule::kReturnAddress);
  EXPECT_EQ(why({0x08, 16}), NoRule::kReturnAddress);
  EXPECT_EQ(why({0x09, 6, 2}), NoRule::kFramePointer);
  EXPECT_EQ(why({0x14, 6, 2}), NoRule::kFramePointer);
  EXPECT_EQ(why({0x16, 6, 2, 0x77, 0}), NoRule::kFramePointer);
  EXPECT_EQ(why({0x10, 6, 2, 0x77, 0}), NoRule::kFramePointer);
  EXPECT_EQ(why({0x87, 3}), NoRule::kStackPointer);
}

TEST_F(CfaPrograms, TakeTheUsualRuleOfTheStackPointerSaidAloud) {
  EXPECT_EQ(rule({0x14, 7, 0}), kEntry);
  EXPECT_EQ(rule({0x15, 7, 0}), kEntry);
  EXPECT_EQ(why({0x15, 7, 1}), NoRule::kStackPointer);
}

TEST_F(CfaPrograms, HaveNoRuleForOffsetsThatItCannotHold) {
  EXPECT_EQ(rule({0x0e, 0xff, 0xff, 0xff, 0xff, 0x07}), stack(0x7fffffff));
  EXPECT_EQ(why({0x0e, 0x80, 0x80, 0x80, 0x80, 0x08}), NoRule::kTooFar);
  EXPECT_EQ(rule({0x86, 0x80, 0x20}), (UnwindRule{CfaRule::kStack, FrameRule::kAtCfa, -0x8000, 8}));
  EXPECT_EQ(why({0x86, 0x81, 0x20}), NoRule::kTooFar);
}

TEST_F(CfaPrograms, HaveNoRuleFromDamageOn) {
  for (const Bytes& damage : {Bytes{0x3f}, Bytes{0x17}, Bytes{0x0b}, Bytes{0x0e}, Bytes{0x0e, 0x80},
                              Bytes{0x03, 1}, Bytes{0x0f, 9, 0x77, 0}, Bytes{0x10, 6, 9, 0x77, 0},
                              Bytes(33, 0x0a), Bytes{0x01} + tests::number(kBegin)}) {
    const auto rows = run(Bytes{0x41, 0x0e, 16} + damage);
    ASSERT_EQ(rows.size(), 2u) << int{damage[0]};
    EXPECT_EQ(rows[0], (CfaRow{kBegin, kBegin + 1, kEntry}));
    EXPECT_EQ(rows[1], (CfaRow{kBegin + 1, kEnd, {}, NoRule::kDamaged}));
  }
}

TEST_F(CfaPrograms, OfACieMayNotAdvanceOrBeDamaged) {
  EXPECT_FALSE(begin_with({0x0c, 7, 8, 0x41, 0x90, 1}));
  EXPECT_FALSE(begin_with({0x0c, 7}));
  EXPECT_TRUE(begin_with({}));
}

}  // namespace
}  // namespace heaptape::recorder
