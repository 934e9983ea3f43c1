// Finds a free slot for a process and a free ring for a thread.
#pragma once

#include <cstdint>

#include "recorder/interposer/claimant.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

struct ClaimedSlot {
  ProcessSlot* slot = nullptr;  // null if none was free; the session has counted that
  uint32_t index = 0;
};
// Waits kPatienceMs at most for the slot of a dead process.
ClaimedSlot claim_process_slot(SessionView session);

struct ClaimedRing {
  RingHeader* ring = nullptr;  // null if none was free
  uint32_t index = 0;
};
// kWait gives the collector kPatienceMs to free the rings of dead threads.
enum class IfNoRing : uint8_t { kGiveUp, kWait };
ClaimedRing claim_ring(SessionView session, Claimant::Thread thread, IfNoRing if_no_ring);

}  // namespace heaptape::recorder
