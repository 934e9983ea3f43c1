// Runs the ops of a turn on the allocator under test. Free of the C++ run-time library; all
// functions are for the driver.
#pragma once

#include <stdint.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Called before any constructor. False if there is no memory for the blocks' addresses.
bool start_ops(WorkerShared* shared);

// Finds the calls that ops make in the library that serves malloc, loaded at `library`. Returns the
// name of a required one that it lacks, or null.
const char* find_calls_of_ops(const void* library);

// The time of two counter readings around nothing, in processor ticks.
uint32_t measure_stamp_cost();

// A turn of kind kRun: ops[op_begin, op_end) on the threads that WorkerShared asks for, and the
// ends of threads among them.
void run_batch();

// A turn of kind kSteer, at the time of the last op; as that thread, if it concerns a thread.
void steer();
// A turn of kind kGiveBack, as thread 0 at the time of the last op.
void give_back();

}  // namespace heaptape::allocators
