#include "recorder/unwind/cfa_state.h"

#include <gtest/gtest.h>

#include "recorder/unwind/cfa_program.h"
#include "tests/support/cfi_bytes.h"

namespace heaptape::recorder {
namespace {

using tests::Bytes;
using tests::operator+;

constexpr SavedRegister kUsualReturn{SavedAt::kCfa, -8};

CfaState ordinary() {
  CfaState state;
  state.base = CfaBase::kStack;
  state.cfa_offset = 8;
  state.return_address = kUsualReturn;
  return state;
}

ReasonedRule with_cfa(const Bytes& expression) {
  CfaState state = ordinary();
  set_cfa_expression(state, {expression, 0});
  return rule_of(state, false);
}

// What the linker says of a .plt, with the number of the byte behind the push for `literal`.
Bytes plt(uint8_t literal) {
  return {0x77, 8,    0x80, 0,   0x3f, 0x1a, static_cast<uint8_t>(0x30 + literal),
          0x2a, 0x33, 0x24, 0x22};
}

TEST(CfaExpression, OfAPltHasARule) {
  EXPECT_EQ(with_cfa(plt(11)).rule, UnwindRule{CfaRule::kPlt});
}

TEST(CfaExpression, OfAnotherPltHasNone) {
  for (const uint8_t literal : {5, 9, 10, 12}) {
    EXPECT_EQ(with_cfa(plt(literal)).why, NoRule::kCfaExpression);
  }
  EXPECT_EQ(with_cfa(plt(11) + Bytes{0x22}).why, NoRule::kCfaExpression);
  Bytes cut = plt(11);
  cut.pop_back();
  EXPECT_EQ(with_cfa(cut).why, NoRule::kCfaExpression);
}

TEST(CfaExpression, OfAnAlignedFrameHasARule) {
  EXPECT_EQ(with_cfa({0x76, 0x78, 0x06}).rule,
            (UnwindRule{CfaRule::kFrameContent, FrameRule::kSame, 0, -8}));
}

TEST(CfaExpression, OfAnotherKindHasNone) {
  for (const Bytes& expression :
       {Bytes{}, Bytes{0x76}, Bytes{0x76, 0x78}, Bytes{0x76, 0x78, 0x06, 0x06},
        Bytes{0x7a, 0x78, 0x06}, Bytes{0x77, 0x78, 0x06}, Bytes{0x30, 0x06}}) {
    EXPECT_EQ(with_cfa(expression).why, NoRule::kCfaExpression);
  }
}

TEST(CfaExpression, IsReplacedAsAWhole) {
  const Bytes aligned = {0x76, 0x78, 0x06};
  CfaTerms terms;
  terms.initial = ordinary();
  CfaProgram program;
  const Bytes instructions = Bytes{0x0f, 3} + aligned + Bytes{0x0e, 16};
  program.start(terms, {instructions, 0}, 0, 1);
  CfaRow row;
  ASSERT_TRUE(program.next(row));
  EXPECT_EQ(row.why, NoRule::kCfaExpression);
}

TEST(SavedByExpression, IsAtARegisterPlusAnOffset) {
  EXPECT_EQ(saved_by_expression({Bytes{0x76, 0x70}, 0}), (SavedRegister{SavedAt::kFrame, -16}));
  EXPECT_EQ(saved_by_expression({Bytes{0x77, 8}, 0}), (SavedRegister{SavedAt::kStack, 8}));
}

TEST(SavedByExpression, IsElsewhereForAnyOther) {
  for (const Bytes& expression : {Bytes{}, Bytes{0x70, 0}, Bytes{0x76}, Bytes{0x76, 0, 0x06}}) {
    EXPECT_EQ(saved_by_expression({expression, 0}).at, SavedAt::kOther);
  }
}

// As glibc has it for what signal handlers return to; `distance` is from the stack pointer to the
// ucontext.
CfaState trampoline(int64_t distance) {
  CfaState state;
  state.base = CfaBase::kStackContent;
  state.cfa_offset = 160 + distance;
  state.frame_pointer = {SavedAt::kStack, 120 + distance};
  state.stack_pointer = {SavedAt::kStack, 160 + distance};
  state.return_address = {SavedAt::kStack, 168 + distance};
  return state;
}

TEST(SignalFrame, HasTheRegistersOfWhatWasInterrupted) {
  EXPECT_EQ(rule_of(trampoline(0), true).rule, UnwindRule{CfaRule::kSignal});
  EXPECT_EQ(rule_of(trampoline(-24), true).rule,
            (UnwindRule{CfaRule::kSignal, FrameRule::kSame, 0, -24}));
}

TEST(SignalFrame, MayHaveTheStackPointerForItsCfa) {
  CfaState state = trampoline(0);
  state.stack_pointer = {};
  EXPECT_EQ(rule_of(state, true).rule, UnwindRule{CfaRule::kSignal});
  state.cfa_offset = 8;
  EXPECT_EQ(rule_of(state, true).why, NoRule::kStackPointer);
}

TEST(SignalFrame, HasNoRuleIfRegistersAreElsewhere) {
  CfaState state = trampoline(0);
  state.frame_pointer.offset += 8;
  EXPECT_EQ(rule_of(state, true).why, NoRule::kFramePointer);
  state = trampoline(0);
  state.stack_pointer.offset += 8;
  EXPECT_EQ(rule_of(state, true).why, NoRule::kStackPointer);
  state = trampoline(0);
  state.return_address.offset = INT64_MIN;
  EXPECT_EQ(rule_of(state, true).why, NoRule::kTooFar);
  EXPECT_EQ(rule_of(ordinary(), true).why, NoRule::kReturnAddress);
}

TEST(SignalFrame, IsOneOnlyIfItsCieSaysSo) {
  EXPECT_EQ(rule_of(trampoline(0), false).rule, UnwindRule{});
}

}  // namespace
}  // namespace heaptape::recorder
