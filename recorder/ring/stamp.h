// Stamps that order the records of different threads. docs/decisions/0002-order.md.
#pragma once

#include <x86intrin.h>

#include <cstdint>

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// Orders a record by when it is taken: before the call that gives a block up, so that whoever gets
// the block next has a later stamp, and after the call that hands one out, so that whoever gave it
// up, or gets it from this thread to free it, has an earlier or a later one.
//
// rdtscp, not rdtsc: it waits for the loads before it. A plain rdtsc may run before the load that
// gave this thread the pointer has come back, and then a free looks older than the malloc, on
// another processor, whose block it frees (measured: 1 in a million frees of a hand-over program).
inline uint64_t take_stamp(SessionHeader& header) {
  unsigned processor;
  if (header.clock == Clock::kTsc) [[likely]]
    return __rdtscp(&processor);
  return header.stamp_counter.fetch_add(1);
}

// For the collector: records stamped up to here are in the rings once their heads are read after
// this call, together with everything that happened before them. Every later stamp is above it.
inline uint64_t stamp_now(SessionHeader& header) {
  unsigned processor;
  const uint64_t now =
      header.clock == Clock::kTsc ? __rdtscp(&processor) : header.stamp_counter.load() - 1;
  _mm_lfence();
  return now;
}

}  // namespace heaptape::recorder
