// The clock that the allocator under test sees: the tape's. The worker exports clock_gettime,
// gettimeofday, time and timespec_get, which the loader finds before libc's; the traps
// (worker_traps.h) answer a library that asks the kernel directly, and the vDSO is hidden.
// docs/decisions/0018-clock.md. Free of the C++ run-time library.
#pragma once

#include <stdint.h>
#include <time.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Called before any constructor. `shared` outlives all calls. Removes the vDSO's address from
// `auxiliary`, the process's auxiliary vector.
void start_clock(WorkerShared* shared, unsigned long* auxiliary);

// Nanoseconds of the tape at the op under way; never falls, in any thread. Each reading is a little
// later than the one before, so that a loop waiting for a deadline ends. Any thread.
uint64_t tape_now_ns();
// The same, without counting as a reading.
uint64_t tape_time_ns();
// `time` is a value of such a clock, past or future. is_day: whether it is a day of this century,
// not an uptime. tape_time_of: in ns; a time before the recording counts as its beginning.
bool is_day(const timespec& time);
uint64_t tape_time_of(const timespec& time);
// Advances the clock by `ns`, as for a sleep in the middle of an op.
void pass_tape_time(uint64_t ns);

// The value of `clock`, as from the system call: 0 or -errno. Processor-time clocks are real.
long read_clock(clockid_t clock, timespec* now);

// The system's own clock, for the worker's own use.
uint64_t real_monotonic_ns();

}  // namespace heaptape::allocators
