// Takes slots and rings for the calling thread, so that the kernel tells the collector when it
// ends.
#pragma once

#include <cstdint>

#include "recorder/ring/owner_lock.h"

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

}  // namespace heaptape::recorder
