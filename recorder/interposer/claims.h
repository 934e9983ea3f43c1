// Finds a free slot for a process and a free ring for a thread, and takes them so that the kernel
// tells the collector when the thread ends.
#pragma once

#include <cstdint>

#include "recorder/ring/owner_lock.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// A thread that can own. It links what it takes into the thread's list of robust futexes, whose
// head libc has registered, at the front and for good: libc finds a mutex there that is never
// unlocked. Owned objects must stay mapped while the thread lives.
class Claimant {
 public:
  // A vfork child's claims belong to its parent's thread, which it borrows for a while, so nobody
  // watches over them.
  enum class Thread : uint8_t { kOwn, kBorrowed };
  explicit Claimant(Thread thread);

  // False if it has an owner.
  bool try_claim(OwnerLock& lock) const;

 private:
  robust_list_head* list_ = nullptr;  // null: the kernel does not watch over its claims
  uint32_t owner_ = kUnwatchedOwner;
};

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
