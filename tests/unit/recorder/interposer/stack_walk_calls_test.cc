// What walks through code without rules ask the kernel for: it copies the code for them, at 1 us
// each time, so the code must be read once, whatever comes of it (docs/decisions/0022-stacks.md).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "recorder/interposer/producer.h"
#include "tests/support/made_code.h"
#include "tests/support/programs.h"

namespace heaptape::recorder {
namespace {

using tests::by_tables;
using tests::MadeFunction;
using tests::MadePage;

const MadeFunction kFunctions[] = {
    tests::kKeepsAFramePointer,
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
  }
  void expect_no_call_for_each_walk(const MadePage& page) const {
    const auto calls_for = [&page](size_t rounds) {
      return system_calls_of([&page, rounds] {
        for (size_t round = 0; round < rounds; ++round) page.call(round, log_here);
      });
    };
    page.call(0, log_here);
    const int few = calls_for(4);
    if (few < 0) GTEST_SKIP() << "nobody may trace a process here";
    // How often a child waits while it joins differs by some calls.
    EXPECT_LT(calls_for(400), few + 40);
  }

  const tests::OwnCode code_;
};

TEST_P(StackWalks, ReadMadeCodeOnce) {
  const MadePage page(GetParam());
  const tests::LiveSession session(by_tables());
  code_.look(session);
  std::thread([&] { expect_no_call_for_each_walk(page); }).join();
}

TEST_P(StackWalks, ReadCodeOnceOfWhichNobodyKnows) {
  const tests::LiveSession session(by_tables());
  code_.look(session);
  const MadePage page(GetParam());
  std::thread([&] { expect_no_call_for_each_walk(page); }).join();
}

INSTANTIATE_TEST_SUITE_P(MadeCode, StackWalks, testing::ValuesIn(kFunctions),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace heaptape::recorder
