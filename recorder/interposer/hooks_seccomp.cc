// prctl and syscall, interposed for the moment at which a program restricts its own system calls:
// from then on it must make none for us (Process::quiet). A thread in strict mode must not even
// read the TSC, as stamps do, so it is no longer recorded.
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "recorder/interposer/attach.h"
#include "recorder/interposer/hook_scope.h"
#include "recorder/interposer/next_functions.h"
#include "recorder/interposer/trampoline.h"

using namespace heaptape::recorder;  // NOLINT: exported functions live outside of namespaces

namespace {

// call() restricts the process unless it fails with -1. Everything that takes system calls is done
// first: joining the session, and this thread's ring.
template <typename Call>
auto call_quietly(Call call) {
  prepare_allocator();
  {
    const HookScope scope;
    if (!scope.nested()) find_state();
  }
  ++process.quiet;
  const auto result = call();
  if (result == -1) --process.quiet;
  return result;
}

template <typename Call>
auto call_strictly(Call call) {
  const auto result = call_quietly(call);
  if (result != -1) leave_thread_unrecorded();
  return result;
}

bool takes_the_tsc(long option, long mode) {
  return option == PR_SET_TSC && mode == PR_TSC_SIGSEGV;
}

}  // namespace

HEAPTAPE_EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
                          unsigned long d) {
  const auto call = [=] { return next_functions().prctl(option, a, b, c, d); };
  if (takes_the_tsc(option, static_cast<long>(a))) return call_strictly(call);
  if (option != PR_SET_SECCOMP) return call();
  return a == SECCOMP_MODE_STRICT ? call_strictly(call) : call_quietly(call);
}

// syscall(SYS_seccomp, ...) and syscall(SYS_prctl, ...).
extern "C" __attribute__((visibility("hidden"), used)) long heaptape_restricting_syscall(
    long number, long a, long b, long c, long d, long e) {
  const auto call = [=] { return next_functions().syscall(number, a, b, c, d, e, 0); };
  if (number == SYS_prctl && takes_the_tsc(a, b)) return call_strictly(call);
  const bool is_prctl = number == SYS_prctl && a == PR_SET_SECCOMP;
  const bool is_seccomp = number == SYS_seccomp;
  if (is_prctl ? b == SECCOMP_MODE_STRICT : is_seccomp && a == SECCOMP_SET_MODE_STRICT) {
    return call_strictly(call);
  }
  return is_prctl || (is_seccomp && a == SECCOMP_SET_MODE_FILTER) ? call_quietly(call) : call();
}

// $317: SYS_seccomp. $157: SYS_prctl.
HEAPTAPE_TRAMPOLINE(syscall, heaptape_find_real_syscall,
                    "  cmp $317, %rdi\n"
                    "  je heaptape_restricting_syscall\n"
                    "  cmp $157, %rdi\n"
                    "  je heaptape_restricting_syscall\n");

extern "C" __attribute__((visibility("hidden"), used)) void heaptape_find_real_syscall() {
  heaptape_next_syscall = reinterpret_cast<void (*)()>(next_functions().syscall);
}
