// Runs the ops of a turn on the allocator under test. Free of the C++ run-time library; all
// functions are for the driver.
#pragma once

#include <stdint.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Before any constructor runs. False: there is no memory for the blocks' addresses.
bool start_ops(WorkerShared* shared);

// Where the library that serves malloc, loaded at `library`, has the calls that ops make. The name
// of one that it lacks and must have, or null.
const char* find_calls_of_ops(const void* library);

// In processor ticks: what two readings of the counter around nothing take.
uint32_t measure_stamp_cost();

// A turn of kind kRun: ops[op_begin, op_end) on the threads that WorkerShared asks for, and the
// ends of threads among them.
void run_batch();

// A turn of kind kGiveBack, as thread 0 at the time of the last op.
void give_back();

}  // namespace heaptape::allocators
