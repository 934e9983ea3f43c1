// Calls that a test makes itself, as the hooks would, and how many of them a ring holds.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

#include "recorder/collector/session_memory.h"
#include "recorder/interposer/producer.h"

namespace heaptape::tests {

inline void free_at(uint64_t address) {
  recorder::record_release(schema::Op::kFree, reinterpret_cast<const void*>(address));
}

// free_at() is a call of one word. The first word of a segment is the time, where the session has
// the TSC; the last words stay empty. Not inline: clang sets inline variables in any order.
const uint64_t kMarkWords = recorder::choose_clock() == recorder::Clock::kTsc ? 1 : 0;
const uint64_t kFreesInSegment =
    recorder::kSegmentWords - recorder::kMaxRecordWords + 1 - kMarkWords;
const uint64_t kFreesInRing = recorder::kRingWords / recorder::kSegmentWords * kFreesInSegment;

inline void in_a_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

}  // namespace heaptape::tests
