// Functions that some libraries offer besides the malloc family: giving free memory back on
// request, and their own statistics. Free of the C++ run-time library.
#pragma once

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Finds what the library with malloc has; it is loaded at `library`. Allocates nothing, whereas
// dlsym would for a missing name.
void find_heap_calls(const void* library);

// The calling thread asks the library to give free memory back to the system. False if the library
// has no function for it.
bool give_back_memory();

// Makes the call by which the recorded program steered its allocator. A library without such a call
// gives free memory back, if that was the point of it.
SteeringOutcome steer(schema::SteeringOp op, int64_t first, int64_t second);

// Reads mallinfo2, if libc itself serves malloc.
void read_mallinfo(WorkerShared& shared);

// Writes the library's heap statistics to `statistics`, at most kMaxStatistics, and returns how
// many. Some libraries take memory of their own for it.
uint32_t read_statistics(Statistic* statistics);

// Writes the library's version to `text`, which has kVersionBytes zeroes; nothing if it has no
// function for that.
void read_version(char* text);

}  // namespace heaptape::allocators
