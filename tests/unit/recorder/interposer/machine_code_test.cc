#include "recorder/interposer/machine_code.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace heaptape::recorder {
namespace {

using Bytes = std::vector<uint8_t>;

std::optional<UnwindRule> rule_of(const Bytes& code) {
  UnwindRule rule;
  return read_epilogue(code, rule) ? std::optional(rule) : std::nullopt;
}

UnwindRule stack(int32_t cfa_offset) {
  return {CfaRule::kCodeStack, FrameRule::kSame, 0, cfa_offset};
}

UnwindRule stack_with_frame(int32_t cfa_offset, int16_t frame_offset) {
  return {CfaRule::kCodeStack, FrameRule::kAtCfa, frame_offset, cfa_offset};
}

constexpr UnwindRule kLeaves{CfaRule::kCodeFrame, FrameRule::kAtCfa, -16, 16};

TEST(Epilogue, ReturnsAtOnce) {
  EXPECT_EQ(rule_of({0xc3}), stack(8));
  EXPECT_EQ(rule_of({0xf3, 0xc3}), stack(8));  // rep
  EXPECT_EQ(rule_of({0xf2, 0xc3}), stack(8));  // bnd
}

// CPython's perf trampoline: add $8,%rsp; ret.
TEST(Epilogue, GivesUpItsFrame) {
  EXPECT_EQ(rule_of({0x48, 0x83, 0xc4, 0x08, 0xc3}), stack(16));
  EXPECT_EQ(rule_of({0x48, 0x81, 0xc4, 0x00, 0x01, 0x00, 0x00, 0xc3}), stack(264));
}

TEST(Epilogue, PopsRegisters) {
  EXPECT_EQ(rule_of({0x5b, 0xc3}), stack(16));
  EXPECT_EQ(rule_of({0x48, 0x83, 0xc4, 0x18, 0x5b, 0x41, 0x5c, 0x41, 0x5d, 0xc3}), stack(56));
}

TEST(Epilogue, PopsTheFramePointer) {
  EXPECT_EQ(rule_of({0x5d, 0xc3}), stack_with_frame(16, -16));
  EXPECT_EQ(rule_of({0x48, 0x83, 0xc4, 0x08, 0x5b, 0x5d, 0x41, 0x5c, 0xc3}),
            stack_with_frame(40, -24));
}

TEST(Epilogue, Leaves) {
  EXPECT_EQ(rule_of({0xc9, 0xc3}), kLeaves);
  EXPECT_EQ(rule_of({0x48, 0x83, 0xc4, 0x08, 0xc9, 0xc3}), kLeaves);
}

TEST(Epilogue, IsNothingElse) {
  EXPECT_EQ(rule_of({}), std::nullopt);
  EXPECT_EQ(rule_of({0x90, 0xc3}), std::nullopt);                             // nop
  EXPECT_EQ(rule_of({0x5c, 0xc3}), std::nullopt);                             // pop %rsp
  EXPECT_EQ(rule_of({0xc2, 0x08, 0x00}), std::nullopt);                       // ret $8
  EXPECT_EQ(rule_of({0x5b, 0xc9, 0xc3}), std::nullopt);                       // pop; leave
  EXPECT_EQ(rule_of({0x48, 0x83, 0xc4, 0xf8, 0xc3}), std::nullopt);           // add $-8
  EXPECT_EQ(rule_of({0x48, 0x83, 0xc4, 0x04, 0xc3}), std::nullopt);           // add $4
  EXPECT_EQ(rule_of({0x48, 0x81, 0xc4, 0, 0, 0, 0x10, 0xc3}), std::nullopt);  // add $256M
}

TEST(Epilogue, IsUnknownWhereItIsCutShort) {
  const Bytes whole = {0x48, 0x81, 0xc4, 0x00, 0x01, 0x00, 0x00, 0x41, 0x5c, 0x5d, 0xc3};
  ASSERT_TRUE(rule_of(whole));
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(rule_of({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes)}),
              std::nullopt);
  }
}

TEST(Prologue, MakesAFramePointer) {
  EXPECT_TRUE(has_prologue(Bytes{0x90, 0x55, 0x48, 0x89, 0xe5}));
  EXPECT_TRUE(has_prologue(Bytes{0x55, 0x48, 0x8b, 0xec, 0x90}));
  EXPECT_FALSE(has_prologue(Bytes{0x55, 0x48, 0x89}));
  EXPECT_FALSE(has_prologue(Bytes{0x55, 0x48, 0x83, 0xec, 0x20}));
  EXPECT_FALSE(has_prologue(Bytes{}));
}

TEST(Call, EndsWhereItReturnsTo) {
  EXPECT_TRUE(ends_in_call(Bytes{0, 0, 0xe8, 1, 2, 3, 4}));
  EXPECT_TRUE(ends_in_call(Bytes{0, 0, 0, 0, 0, 0xff, 0xd1}));     // *%rcx
  EXPECT_TRUE(ends_in_call(Bytes{0, 0, 0, 0, 0x41, 0xff, 0xd2}));  // *%r10
  EXPECT_TRUE(ends_in_call(Bytes{0, 0xff, 0x15, 1, 2, 3, 4}));     // *N(%rip)
  EXPECT_TRUE(ends_in_call(Bytes{0, 0, 0, 0, 0xff, 0x50, 8}));     // *8(%rax)
  EXPECT_TRUE(ends_in_call(Bytes{0xff, 0x94, 0xc8, 1, 2, 3, 4}));  // *N(%rax,%rcx,8)
  EXPECT_TRUE(ends_in_call(Bytes{0, 0, 0, 0, 0xff, 0x14, 0xc8}));  // *(%rax,%rcx,8)
  EXPECT_TRUE(ends_in_call(Bytes{0xff, 0x14, 0xc5, 1, 2, 3, 4}));  // *N(,%rax,8)
}

TEST(Call, IsNoOtherInstruction) {
  EXPECT_FALSE(ends_in_call(Bytes{}));
  EXPECT_FALSE(ends_in_call(Bytes{0xc3}));
  EXPECT_FALSE(ends_in_call(Bytes{0, 0, 0, 0, 0, 0xff, 0x14}));     // its last byte is missing
  EXPECT_FALSE(ends_in_call(Bytes{0, 0, 0, 0, 0xff, 0x14, 0xc5}));  // its last four are
  EXPECT_FALSE(ends_in_call(Bytes{0, 0, 0, 0, 0, 0xff, 0xe1}));     // jmp *%rcx
  EXPECT_FALSE(ends_in_call(Bytes{0, 0, 0xe9, 1, 2, 3, 4}));        // jmp
  EXPECT_FALSE(ends_in_call(Bytes{0, 0, 0, 0, 0xff, 0xd1, 0x90}));  // a byte behind it
}

}  // namespace
}  // namespace heaptape::recorder
