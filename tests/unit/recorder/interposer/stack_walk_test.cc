// Single steps of walks: through code that was made at run time, and by a table's rule.
#include "recorder/interposer/stack_walk.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "recorder/interposer/attach.h"
#include "recorder/interposer/code_view.h"
#include "tests/support/made_code.h"

namespace heaptape::recorder {
namespace {

// What a hook does with the address of its own frame.
std::function<void(uintptr_t)> act;

[[gnu::noinline]] void act_here() {
  act(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  asm volatile("" ::: "memory");
}

struct Stepped {
  bool is_found;
  uint8_t basis;
  uintptr_t return_address;
};

// Steps out of functions that are written into some pages known as made code.
class AStepOutOfMadeCode : public testing::Test {
 protected:
  using Code = std::vector<uint8_t>;

  AStepOutOfMadeCode() {
    allow(PROT_READ | PROT_EXEC);
    code_.look(session_);
  }
  ~AStepOutOfMadeCode() override {
    munmap(memory_, kBytes);
    for (void* page : later_) munmap(page, 4096);
  }

  // Something else has been mapped meanwhile.
  void look_again() {
    later_.push_back(
        mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    code_.look(session_);
  }
  void write(size_t at, const Code& code) {
    allow(PROT_READ | PROT_WRITE);
    std::ranges::copy(code, memory_ + at);
    allow(PROT_READ | PROT_EXEC);
  }
  // There is nothing else.
  void write_alone(const Code& code) {
    allow(PROT_READ | PROT_WRITE);
    std::fill_n(memory_, kBytes, uint8_t{0x90});
    write(0, code);
    *walker_ = {};
  }
  // Out of the function that called the hook with this frame.
  Stepped step(uintptr_t frame) {
    Position here = {};
    Position to = {};
    uint8_t basis = 0;
    walker_->begin(frame, here);
    const Step step = walker_->step(here, to, basis);
    return {step == Step::kFrame, basis, to.return_address};
  }
  // Calls what is at the beginning, with what is at `callee`.
  [[gnu::noinline]] void call(std::function<void(uintptr_t)> hook, size_t callee = 0) {
    act = std::move(hook);
    reinterpret_cast<tests::Made>(memory_)(reinterpret_cast<uintptr_t>(memory_) + callee, act_here);
    asm volatile("" ::: "memory");
  }
  Stepped step_out_of(const Code& code) {
    write_alone(code);
    Stepped stepped = {};
    call([&](uintptr_t frame) { stepped = step(frame); });
    return stepped;
  }
  void allow(int how) { mprotect(memory_, kBytes, how); }

  // push %rbp; mov %rsp,%rbp; sub $frame,%rsp; nop ...; call *%rsi; nop; leave; ret
  static Code framed(uint32_t frame, size_t nops = 0) {
    Code code{0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec};
    for (int i = 0; i < 4; ++i) code.push_back(static_cast<uint8_t>(frame >> 8 * i));
    code.insert(code.end(), nops, 0x90);
    code.insert(code.end(), {0xff, 0xd6, 0x90, 0xc9, 0xc3});
    return code;
  }

  static constexpr size_t kBytes = 8 * 4096;

  std::vector<void*> later_;
  uint8_t* const memory_ = static_cast<uint8_t*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const tests::OwnCode code_;
  const tests::LiveSession session_{tests::by_tables()};
  const std::unique_ptr<StackWalker> walker_ = std::make_unique<StackWalker>();
};

TEST_F(AStepOutOfMadeCode, IsGuessedByAFramePointerWithinReach) {
  EXPECT_TRUE(step_out_of(framed(0x40)).is_found);
  EXPECT_EQ(step_out_of(framed(0x40)).basis, kByFrame | kByGuess);
  EXPECT_TRUE(step_out_of(framed(0xfff0)).is_found);
  EXPECT_FALSE(step_out_of(framed(0x10010)).is_found);
}

// The code before is read in pieces.
TEST_F(AStepOutOfMadeCode, IsGuessedBehindAPrologueNotFarBefore) {
  for (size_t nops = 0; nops < 1'100; ++nops) {
    ASSERT_TRUE(step_out_of(framed(0x40, nops)).is_found) << nops;
  }
  EXPECT_TRUE(step_out_of(framed(0x40, 15 << 10)).is_found);
  EXPECT_FALSE(step_out_of(framed(0x40, 17 << 10)).is_found);
}

// A function, and one that it calls, which calls the hook.
class AStepBetweenMadeFunctions : public AStepOutOfMadeCode {
 protected:
  // Calls act(frame of the hook) there.
  void act_inside(const std::function<void(uintptr_t)>& hook) {
    // nop; nop; push %rbp; mov %rsp,%rbp; call *%rdi; nop; leave; ret
    write_alone({0x90, 0x90, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x90, 0xc9, 0xc3});
    write(kCallee, framed(0x40));
    call(
        [&](uintptr_t frame) {
          EXPECT_EQ(step(frame).return_address, back_);
          hook(frame);
        },
        kCallee);
  }

  static constexpr size_t kCall = 6;
  static constexpr size_t kCallee = 64;
  static constexpr size_t kEpilogue = kCallee + 13;

  const uintptr_t back_ = reinterpret_cast<uintptr_t>(memory_) + kCall + 2;
};

TEST_F(AStepBetweenMadeFunctions, GoesByNoRuleOfCodeThatHasChanged) {
  act_inside([this](uintptr_t frame) {
    write(kEpilogue, {0x48, 0x83, 0xc4, 0x08, 0xc3});  // of a smaller frame
    look_again();
    EXPECT_NE(step(frame).return_address, back_);
    write(kCallee, framed(0x40));
  });
}

TEST_F(AStepBetweenMadeFunctions, ReturnsToNoCallOfCodeThatHasChanged) {
  act_inside([this](uintptr_t frame) {
    write(kCall, {0x90, 0x90});
    look_again();
    EXPECT_FALSE(step(frame).is_found);
    write(kCall, {0xff, 0xd7});
  });
}

// The collector is told of code that it has not seen, once until it has looked.
TEST_F(AStepOutOfMadeCode, AsksForCodeThatIsNotKnown) {
  const std::atomic<uint32_t>& wanted = session_.view().process(0).code_wanted;
  const uint32_t before = wanted;
  step_out_of(framed(0x40));
  EXPECT_EQ(wanted, before);
  const tests::MadePage first(tests::kKeepsAFramePointer);
  act = [this](uintptr_t frame) { step(frame); };
  for (size_t round = 0; round < 4; ++round) first.call(round, act_here);
  EXPECT_EQ(wanted, before + 1);
  look_again();
  first.call(0, act_here);
  EXPECT_EQ(wanted, before + 1);
  const tests::MadePage second(tests::kKeepsAFramePointer);
  second.call(0, act_here);
  EXPECT_EQ(wanted, before + 2);
}

// Of a function by a table that has one rule for it. Nothing runs: the stack is an array.
class AStepByARule : public testing::Test {
 protected:
  static constexpr uint64_t kCode = 0x100000;
  static constexpr uint64_t kOffset = 4096;

  // As the collector lays it out.
  struct File {
    CodeMap map;
    CodeRange range;
    UnwindTable table;
    UnwindRule rule;
    uint32_t first_row[2];
    uint32_t code[1];
    uint16_t rules[2];
  };

  AStepByARule() {
    std::iota(words_.begin(), words_.end(), kCode + 0x100);
    EXPECT_EQ(ftruncate(memory_.get(), 1 << 20), 0);
    map_code_file(memory_.get());
  }
  Step step(const UnwindRule& rule, const Position& from) {
    const File file{{kCodeMapMagic, kOffset + sizeof(File), 1, 0},
                    {kCode, kCode + 4096, 0, kOffset + offsetof(File, table)},
                    {1, 1, 1, sizeof(File) - offsetof(File, table)},
                    rule,
                    {0, 0},
                    {0},
                    {0, 0}};
    EXPECT_EQ(pwrite(memory_.get(), &file, sizeof file, kOffset),
              static_cast<ssize_t>(sizeof file));
    ProcessSlot& slot = session_.view().process(0);
    slot.code_map = with_map(slot.code_map, kOffset);
    Position here = {};
    uint8_t basis = 0;
    walker_->begin(address(0), here);
    return walker_->step(from, to_, basis);
  }
  uintptr_t address(size_t word) const { return reinterpret_cast<uintptr_t>(&words_[word]); }
  // In the middle of the array.
  Position at_frame(size_t frame) const {
    return {address(7), kCode + 0x11, address(8), address(frame), address(frame)};
  }

  const base::Descriptor memory_{memfd_create("code", MFD_CLOEXEC)};
  const tests::LiveSession session_{tests::by_tables()};
  const std::unique_ptr<StackWalker> walker_ = std::make_unique<StackWalker>();
  std::array<uint64_t, 16> words_;
  Position to_ = {};
};

// Whatever is in the frame pointer.
TEST_F(AStepByARule, NeverLeadsInwards) {
  const UnwindRule rule{CfaRule::kFrame, FrameRule::kSame, 0, 16};
  for (size_t frame = 0; frame < 14; ++frame) {
    const bool is_outwards = frame >= 7;  // the return address is a word further out
    EXPECT_EQ(step(rule, at_frame(frame)), is_outwards ? Step::kFrame : Step::kCut) << frame;
    if (!is_outwards) continue;
    EXPECT_EQ(to_.return_address, words_[frame + 1]);
  }
}

TEST_F(AStepByARule, EndsWhereNoReturnAddressIs) {
  const UnwindRule rule{CfaRule::kFrame, FrameRule::kSame, 0, 16};
  for (const uint64_t word : {uint64_t{0}, uint64_t{4095}, uint64_t{1} << 56, UINT64_MAX}) {
    words_[9] = word;
    EXPECT_EQ(step(rule, at_frame(8)), Step::kCut) << word;
    EXPECT_EQ(walker_->cut(), schema::StackEnd::kNoCode);
  }
}

}  // namespace
}  // namespace heaptape::recorder
