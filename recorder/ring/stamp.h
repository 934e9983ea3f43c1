// Stamps that order the records of different threads. docs/decisions/0002-order.md.
#pragma once

#include <x86intrin.h>

#include <cstdint>

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// Take it before a call that gives a block up: the block's next owner has a later stamp. Take it
// after a call that hands a block out: the thread that gave the block up has an earlier stamp, and
// the thread that frees it a later one.
//
// rdtscp, not rdtsc: it waits for the loads before it. A plain rdtsc may run before the load that
// gave this thread the pointer has come back, and then a free looks older than the malloc, on
// another processor, whose block it frees (measured: 1 in a million frees of a hand-over program).
inline uint64_t take_stamp(const SessionView& session) {
  unsigned processor;
  if (session.board().clock == Clock::kTsc) [[likely]]
    return __rdtscp(&processor);
  return session.lobby().stamp_counter.fetch_add(1);
}

// The collector's cut. Reading the heads of all rings after this call shows the records stamped up
// to the cut, and all that happened before them. Every later stamp is above it.
inline uint64_t stamp_now(const SessionView& session) {
  unsigned processor;
  const uint64_t next = session.board().clock == Clock::kTsc ? __rdtscp(&processor)
                                                             : session.lobby().stamp_counter.load();
  _mm_lfence();
  return next == 0 ? 0 : next - 1;  // a hostile process may set the counter to 0
}

}  // namespace heaptape::recorder
