// System calls without libc: no errno, no cancellation points, no locks, no symbol that another
// library may have interposed. Results are the kernel's: -errno on failure.
#pragma once

#include <sys/syscall.h>
#include <time.h>

#include <cstdint>

namespace heaptape::recorder {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <typename Pointer>
long as_long(Pointer* pointer) {
  return reinterpret_cast<long>(pointer);
}

// The calling thread's. `blocked` is as the kernel has it, one bit per signal; so is `*before`, if
// it is not null.
inline void set_blocked_signals(uint64_t blocked, uint64_t* before) {
  constexpr long kSetMask = 2;  // SIG_SETMASK
  raw_syscall(SYS_rt_sigprocmask, kSetMask, as_long(&blocked), as_long(before), sizeof blocked);
}

// Sleeps for a millisecond.
inline void nap_ms() {
  const timespec millisecond{0, 1'000'000};
  raw_syscall(SYS_nanosleep, as_long(&millisecond));
}

}  // namespace heaptape::recorder
