// Runs the tape's threads at the same time, each on its own ops in order, waiting for others only
// where WorkerShared::waits says so. Free of the C++ run-time library.
#pragma once

#include <stdint.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Runs one op; `until_timed` is the thread's own count of ops until the next timed one.
using RunFreely = void (*)(uint32_t op, uint32_t& until_timed);

// Called by the driver, which is thread 0 of the tape and also works. Runs the ops of this turn
// with `run`, and ends each thread where it ends on the tape, once all earlier ops are done.
// Returns the op before which all are done: less than op_end if the log of memory calls is half
// full; the rest is then run in turns that begin at that op.
uint32_t run_freely(WorkerShared& shared, RunFreely run);

}  // namespace heaptape::allocators
