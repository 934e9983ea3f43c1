// The clock that the allocator under test sees: that of the tape. The worker exports clock_gettime,
// gettimeofday, time and timespec_get, which the loader finds before libc's; a clock that a library
// asks the kernel for itself is answered by the traps (worker_traps.h), and the vDSO is not to be
// found. docs/decisions/0018-clock.md. Free of the C++ run-time library.
#pragma once

#include <stdint.h>
#include <time.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Before any constructor runs. `shared` outlives all calls. Takes the vDSO's place out of
// `auxiliary`, the process's auxiliary vector.
void start_clock(WorkerShared* shared, unsigned long* auxiliary);

// Nanoseconds of the tape at the op under way; it never falls, in no thread. Each reading is a
// little later than the one before, so that a loop that waits for a deadline comes to its end. Any
// thread.
uint64_t tape_now_ns();
// The same, without its being a reading.
uint64_t tape_time_ns();
// From what such a clock showed, or will show. is_day: it is a day of this century, and otherwise
// an uptime. A time before the recording is its begin.
bool is_day(const timespec& time);
uint64_t tape_time_of(const timespec& time);
// Lets `ns` pass, as for a sleep in the middle of an op.
void pass_tape_time(uint64_t ns);

// What `clock` shows, as the system call does: 0 or -errno. Clocks of processor time are real.
long read_clock(clockid_t clock, timespec* now);

// The system's own clock, for the worker's own use.
uint64_t real_monotonic_ns();

}  // namespace heaptape::allocators
