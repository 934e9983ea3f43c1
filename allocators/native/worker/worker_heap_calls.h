// What some libraries offer beside the malloc family: giving free memory back when asked, and
// their own statistics. Free of the C++ run-time library.
#pragma once

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// Finds what the library with malloc has; it is loaded at `library`. Allocates nothing: dlsym would
// where there is no such name.
void find_heap_calls(const void* library);

// The calling thread asks the library to give free memory back to the system. False: the library
// has no function for it.
bool give_back_memory();

// What mallinfo2 says, where libc itself serves malloc.
void read_mallinfo(WorkerShared& shared);

// Writes what the library says of its heap to `statistics`, at most kMaxStatistics, and returns how
// many they are. Some libraries take memory of their own for it.
uint32_t read_statistics(Statistic* statistics);

// Writes the version that the library gives to `text`, which has kVersionBytes zeroes; nothing if
// it has no function for that.
void read_version(char* text);

}  // namespace heaptape::allocators
