// The numbers of frames in a ring, which a jump out of a signal handler must not upset: a thread
// logs a stack, is interrupted behind each instruction in turn, and jumps away.
#include "recorder/interposer/stack_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>
#include <vector>

#include "recorder/interposer/producer.h"
#include "tests/support/live_session.h"
#include "tests/support/programs.h"

namespace heaptape::recorder {
namespace {

constexpr size_t kFrames = 2;

// Frames as a walk by frame pointers finds them, on the stack of whoever has this: each is the
// caller's frame pointer and a return address.
class MadeStack {
 public:
  // The outer frame is that of all, the inner one is `name`'s alone.
  explicit MadeStack(uint64_t name) {
    for (size_t i = 0; i < kFrames; ++i) {
      const bool is_last = i + 1 == kFrames;
      words_[2 * i] = is_last ? 0 : reinterpret_cast<uint64_t>(&words_[2 * i + 2]);
      words_[2 * i + 1] = 0x100000 * (i + 1) + (i + 1 < kFrames ? name : 0);
    }
  }
  uint32_t log() const { return log_stack(1, reinterpret_cast<uintptr_t>(words_.data())); }
  std::vector<uint64_t> return_addresses() const {
    std::vector<uint64_t> result;
    for (size_t i = 0; i < kFrames; ++i) result.push_back(words_[2 * i + 1]);
    return result;
  }

 private:
  alignas(16) std::array<uint64_t, 2 * kFrames> words_;
};

// The frames that a ring has, as the collector would number them.
class ReadFrames {
 public:
  ReadFrames(SessionView session, uint32_t ring)
      : ring_(session.ring(ring)), words_(session.words(ring)) {}

  // Takes what is new out of the ring.
  void read() {
    const uint64_t head = ring_.head;
    while (at_ < head) {
      const auto left = static_cast<uint32_t>(kSegmentWords - at_ % kSegmentWords);
      Record record;
      const ReadRecord kind = read_record(words_ + at_ % kRingWords, left, record);
      ASSERT_NE(kind, ReadRecord::kCorrupt);
      if (kind == ReadRecord::kFrame) frames_.push_back({record.stack, record.address});
      at_ += kind == ReadRecord::kSegmentEnd ? left : record.words;
    }
    ring_.tail = at_;
  }
  std::vector<uint64_t> return_addresses(uint64_t number) const {
    std::vector<uint64_t> result;
    while (number > 0 && number <= frames_.size()) {
      result.push_back(frames_[number - 1].return_address);
      number = frames_[number - 1].caller;
    }
    return result;
  }

 private:
  struct Frame {
    uint64_t caller;
    uint64_t return_address;
  };
  RingHeader& ring_;
  const uint64_t* const words_;
  uint64_t at_ = 0;
  std::vector<Frame> frames_;
};

// The trap flag: a signal behind each instruction. Below the red zone.
#define SET_TRAPS(operation)                                 \
  asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n" operation \
               ", (%%rsp)\n popfq\n"                         \
               "lea 128(%%rsp), %%rsp" ::                    \
                   : "memory", "cc")

sigjmp_buf away;
volatile size_t steps_left;
void on_trap(int) {
  steps_left = steps_left - 1;
  if (steps_left == 0) siglongjmp(away, 1);
}

// Leaves MadeStack::log() behind so many instructions. False: it is over before.
bool leave_behind(size_t instructions, const MadeStack& stack) {
  steps_left = instructions;
  if (sigsetjmp(away, 1) != 0) return true;
  SET_TRAPS("orq $0x100");
  stack.log();
  SET_TRAPS("andq $~0x100");
  return false;
}

TEST(StackLog, IsWholeAfterAJumpFromAnywhere) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer would be interrupted, too";
  const tests::LiveSession session({Follow::kAll, OnFull::kBlock, 64});
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = on_trap;
  sigaction(SIGTRAP, &action, &before);
  std::thread([&session] {
    ReadFrames frames(session.view(), 0);
    const auto expect_log = [&frames](const MadeStack& stack) {
      const uint32_t number = stack.log();
      frames.read();
      return frames.return_addresses(number) == stack.return_addresses();
    };
    ASSERT_TRUE(expect_log(MadeStack(1)));
    size_t instructions = 1;
    for (bool is_left = true; is_left; ++instructions) {
      const MadeStack stack(2 * instructions);
      is_left = leave_behind(instructions, stack);
      ASSERT_TRUE(expect_log(stack)) << instructions;
      ASSERT_TRUE(expect_log(MadeStack(2 * instructions + 1))) << instructions;
    }
    EXPECT_GT(instructions, 200u);
  }).join();
  sigaction(SIGTRAP, &before, nullptr);
}

// Pages of this process's address space. Allocates nothing.
long mapped_pages() {
  char text[64] = {};
  const int file = open("/proc/self/statm", O_RDONLY);
  EXPECT_GT(read(file, text, sizeof text - 1), 0);
  close(file);
  return strtol(text, nullptr, 10);
}

// How many pages the last of a chain of forked processes has more than the first of them, each of
// which logs a stack; -1: that is not so.
int pages_gained(int processes, long pages_of_first = 0) {
  const pid_t child = fork();
  if (child == 0) {
    if (MadeStack(static_cast<uint64_t>(processes)).log() == 0) _exit(255);
    const long pages = mapped_pages();
    const long first = pages_of_first != 0 ? pages_of_first : pages;
    _exit(processes == 1 ? static_cast<int>(pages - first) : pages_gained(processes - 1, first));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

TEST(StackLog, IsThatOfTheParentInAForkedChild) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer maps memory of its own";
  const tests::LiveSession session({Follow::kAll, OnFull::kBlock, 64});
  std::thread([] {
    ASSERT_NE(MadeStack(1).log(), 0u);
    EXPECT_EQ(pages_gained(12), 0);
  }).join();
}

}  // namespace
}  // namespace heaptape::recorder
