// Threads of the allocator's own, such as jemalloc's background threads: they run, and sleep on the
// time of the tape. Exports nanosleep, usleep and pthread_cond_timedwait; other ways to sleep take
// real time. Free of
// the C++ run-time library.
#pragma once

#include <stdint.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// The calling thread is the driver, which replays. Before any constructor runs.
void start_threads(WorkerShared* shared);

// By the kernel's number of the thread.
bool is_driver();

// The calling thread makes calls of the tape: the driver, whatever thread it pretends to be, or, in
// lock step and free, one of the parked. Such a thread cannot wait for the tape, which it plays.
bool plays_tape();
// From now on, it does.
void play_tape();

// By the driver, between two ops: threads whose sleep is over by the time of the next op get 20 ms
// of real time to do their work. At once where no thread sleeps.
void let_sleepers_work();

}  // namespace heaptape::allocators
