// The allocator's own threads, such as jemalloc's background threads: they run, and sleep in tape
// time. Exports nanosleep, usleep and pthread_cond_timedwait; other ways to sleep take real time.
// Free of the C++ run-time library.
#pragma once

#include <stdint.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Called by the driver, which replays, before any constructor.
void start_threads(WorkerShared* shared);

// By the kernel's thread number.
bool is_driver();

// Whether the calling thread makes calls of the tape: the driver, whichever thread it pretends to
// be, or, in lock step and free, a parked one. Such a thread plays the tape, so it cannot wait for
// it.
bool plays_tape();
// Makes the calling thread one from now on.
void play_tape();

// For the driver, between two ops: threads whose sleep is over by the time of the next op get 20 ms
// of real time for their work. Returns at once if no thread sleeps.
void let_sleepers_work();

}  // namespace heaptape::allocators
