// What walks through code without rules ask the kernel for. The code is read by system calls, at 1
// us each, so it must be read once, whatever comes of it (docs/decisions/0022-stacks.md).
#include "recorder/interposer/stack_walk.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include "base/output_file.h"
#include "recorder/collector/code_tables.h"
#include "recorder/interposer/code_view.h"
#include "recorder/interposer/producer.h"
#include "tests/support/live_session.h"
#include "tests/support/programs.h"

namespace heaptape::recorder {
namespace {

// A function made at run time that calls its second argument.
struct MadeFunction {
  const char* name;
  std::vector<uint8_t> code;
};

std::ostream& operator<<(std::ostream& out, const MadeFunction& function) {
  return out << function.name;
}

// push %rbp; mov %rsp,%rbp; sub $0x40,%rsp; call *%rsi; nop; leave; ret
const MadeFunction kKeepsAFramePointer{
    "KeepsAFramePointer",
    {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0xff, 0xd6, 0x90, 0xc9, 0xc3}};

const MadeFunction kFunctions[] = {
    kKeepsAFramePointer,
    // sub $8,%rsp; call *%rsi; add $8,%rsp; ret
    {"SaysHowItReturns", {0x48, 0x83, 0xec, 8, 0xff, 0xd6, 0x48, 0x83, 0xc4, 8, 0xc3}},
    // push %rbp; mov $7,%rbp; sub $0x10,%rsp; call *%rsi; nop; add $0x10,%rsp; pop %rbp; ret
    {"HasNoFramePointer", {0x55, 0x48, 0xc7, 0xc5, 7,    0,    0,    0,    0x48, 0x83, 0xec,
                           0x10, 0xff, 0xd6, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3}},
    // push %rbp; sub $0x20,%rsp; lea 8(%rsp),%rbp; mov %rdi,8(%rbp); call *%rsi; nop;
    // add $0x20,%rsp; pop %rbp; ret: what looks like a return address is the first argument
    {"SeemsToHaveOne", {0x55, 0x48, 0x83, 0xec, 0x20, 0x48, 0x8d, 0x6c, 0x24, 8,    0x48, 0x89,
                        0x7d, 8,    0xff, 0xd6, 0x90, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3}},
    // lea 0xc(%rip),%rax; push %rax; sub $0x10,%rsp; call *%rsi; add $0x10,%rsp; ret; ret
    {"ReturnsToWhereNoCallWas", {0x48, 0x8d, 0x05, 0xc,  0,    0,    0,    0x50, 0x48, 0x83,
                                 0xec, 0x10, 0xff, 0xd6, 0x48, 0x83, 0xc4, 0x10, 0xc3, 0xc3}},
};

// As the code of a hook.
[[gnu::noinline]] void log_here() {
  static_cast<void>(log_stack(1, reinterpret_cast<uintptr_t>(__builtin_frame_address(0))));
  asm volatile("" ::: "memory");
}

using Made = void (*)(uintptr_t, void (*)());

// A page of code: a function that keeps a frame pointer, and two of one kind.
class MadePage {
 public:
  explicit MadePage(const MadeFunction& function)
      : memory_(static_cast<uint8_t*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::ranges::copy(kKeepsAFramePointer.code, memory_);
    for (size_t i = 1; i <= 2; ++i) std::ranges::copy(function.code, memory_ + i * kEach);
    mprotect(memory_, kBytes, PROT_READ | PROT_EXEC);
  }
  ~MadePage() { munmap(memory_, kBytes); }
  MadePage(const MadePage&) = delete;
  MadePage& operator=(const MadePage&) = delete;

  // Of two in turn, so that no frame is where it was in the walk before.
  void call(size_t round) const {
    const auto function = reinterpret_cast<Made>(memory_ + (1 + round % 2) * kEach);
    function(reinterpret_cast<uintptr_t>(memory_) + kEach / 2, log_here);
  }

 private:
  static constexpr size_t kBytes = 4096;
  static constexpr size_t kEach = 64;

  uint8_t* const memory_;
};

// How many system calls a forked child makes for this, and some besides; -1: they cannot be
// counted here.
int system_calls_of(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return -1;
  int stops = 0;  // two for each call
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  while (WIFSTOPPED(status)) {
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) ++stops;
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  return stops / 2;
}

class StackWalks : public testing::TestWithParam<MadeFunction> {
 protected:
  void SetUp() override {
    if (tests::kSanitized) GTEST_SKIP() << "a sanitizer makes system calls of its own";
    map_code_file(tables_->descriptor());
  }
  // As the collector does it: the walks know of what is mapped now.
  void look_at_code(ProcessSlot& slot) const {
    const std::string maps = *base::read_file("/proc/self/maps", 1 << 20);
    const uint64_t map = tables_->read(static_cast<uint32_t>(getpid()), maps).code_map;
    slot.code_map = with_map(slot.code_map, map);
  }
  // A second look changes nothing, so the walks of a process are as many as its rounds.
  void expect_no_call_for_each_walk(const MadePage& page) const {
    const auto calls_for = [&page](size_t rounds) {
      return system_calls_of([&page, rounds] {
        for (size_t round = 0; round < rounds; ++round) page.call(round);
      });
    };
    page.call(0);
    const int few = calls_for(4);
    if (few < 0) GTEST_SKIP() << "nobody may trace a process here";
    EXPECT_EQ(calls_for(400), few);
  }

  const std::unique_ptr<CodeTables> tables_ = std::move(*CodeTables::create(Unwinding::kTables));
};

TEST_P(StackWalks, ReadMadeCodeOnce) {
  const MadePage page(GetParam());
  const tests::LiveSession session({Follow::kAll, OnFull::kBlock, 64, Unwinding::kTables});
  look_at_code(session.view().process(0));
  std::thread([&] { expect_no_call_for_each_walk(page); }).join();
}

TEST_P(StackWalks, ReadCodeOnceOfWhichNobodyKnows) {
  const tests::LiveSession session({Follow::kAll, OnFull::kBlock, 64, Unwinding::kTables});
  look_at_code(session.view().process(0));
  const MadePage page(GetParam());
  std::thread([&] { expect_no_call_for_each_walk(page); }).join();
}

INSTANTIATE_TEST_SUITE_P(MadeCode, StackWalks, testing::ValuesIn(kFunctions),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace heaptape::recorder
