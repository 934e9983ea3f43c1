#include "recorder/interposer/claims.h"

#include <algorithm>

#include "recorder/interposer/attach.h"
#include "recorder/interposer/session_map.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// An entry's address is that of its `next`, or of the list's head, with bit 0 set for another kind
// of mutex. The address of the previous entry precedes it.
void** previous_of(void* entry) {
  return reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(entry) & ~uintptr_t{1}) - 1;
}

void link(robust_list_head& head, OwnerLock& lock) {
  void* const first = head.list.next;
  lock.next = first;
  lock.previous = &head;
  *previous_of(first) = &lock.next;
  head.list.next = reinterpret_cast<robust_list*>(&lock.next);
}

// A list for a thread whose libc has registered none: musl's, until it locks a robust mutex, and
// those made by a bare clone(2). Not in the thread's own memory, which some unmap before they end.
// Its own lock is linked first, so the kernel reaches it last: once that is marked, nobody needs
// the list any more, and another thread may take it.
struct OwnList {
  OwnerLock lock;
  void* last;  // before the head, so that a head looks like an entry from behind
  robust_list_head head;
};
static_assert(offsetof(OwnList, head) - offsetof(OwnList, last) == sizeof(void*));

// The number of such threads that can be watched at one time.
constexpr uint32_t kOwnLists = 4096;
constinit OwnList own_lists[kOwnLists] = {};

bool take(OwnerLock& lock, uint32_t owner) {
  uint32_t word = lock.word.load(std::memory_order_relaxed);
  return (word == 0 || (word & FUTEX_OWNER_DIED) != 0) &&
         lock.word.compare_exchange_strong(word, owner);
}

robust_list_head* register_own_list() {
  const auto owner = static_cast<uint32_t>(raw_syscall(SYS_gettid));
  for (OwnList& list : own_lists) {
    if (!take(list.lock, owner)) continue;
    list.head = {{&list.head.list}, kFutexOffset, nullptr};
    link(list.head, list.lock);
    if (raw_syscall(SYS_set_robust_list, as_long(&list.head), sizeof list.head) == 0) {
      return &list.head;
    }
    list.lock.word = 0;
    break;
  }
  return nullptr;
}

robust_list_head* registered_list() {
  robust_list_head* head = nullptr;
  size_t bytes = 0;
  if (raw_syscall(SYS_get_robust_list, 0, as_long(&head), as_long(&bytes)) != 0) return nullptr;
  return head != nullptr ? head : register_own_list();
}

// Calls `try_claim` until it works, for kPatienceMs at most: the collector frees the claims of dead
// owners by itself.
template <typename TryClaim>
bool claim_patiently(SessionView session, TryClaim try_claim) {
  if (try_claim()) return true;
  const Board& board = session.board();
  if (board.on_full != OnFull::kBlock) return false;
  for (uint32_t waited_ms = 0; waited_ms < kPatienceMs && !is_over(board); ++waited_ms) {
    session.lobby().ring_wanted = 1;
    wake_collector(session.lobby());
    nap_ms();
    if (try_claim()) return true;
  }
  return false;
}

// The index of a part that was free and now is the claimant's; `count` if there is none.
// `lock_of(index)` is null for a part that cannot be mapped; its block is skipped. Low parts come
// first, so that little of the pool is ever touched.
template <typename LockOf>
uint32_t claim_part(const Claimant& claimant, Occupancy& taken, uint32_t count, LockOf lock_of) {
  const uint32_t begin = taken.lowest_free.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t index = (begin + i) % count;
    OwnerLock* const lock = lock_of(index);
    if (lock == nullptr) i += std::min(kBlockParts - 1 - index % kBlockParts, count - 1 - index);
    if (lock == nullptr || !claimant.try_claim(*lock)) continue;
    if (index >= begin) taken.lowest_free.store(index + 1, std::memory_order_relaxed);
    uint32_t high = taken.high_water.load();
    while (high <= index && !taken.high_water.compare_exchange_weak(high, index + 1)) {
    }
    return index;
  }
  return count;
}

}  // namespace

Claimant::Claimant(Thread thread) {
  if (thread == Thread::kBorrowed) return;
  robust_list_head* const list = registered_list();
  if (list == nullptr || list->futex_offset != kFutexOffset) return;
  list_ = list;
  owner_ = static_cast<uint32_t>(raw_syscall(SYS_gettid));
}

// In the order that get_robust_list(2) requires: a thread killed in between is found by
// list_op_pending.
bool Claimant::try_claim(OwnerLock& lock) const {
  uint32_t expected = 0;
  if (list_ == nullptr) return lock.word.compare_exchange_strong(expected, owner_);
  if (lock.word.load(std::memory_order_relaxed) != 0) return false;
  auto& pending = *const_cast<robust_list* volatile*>(&list_->list_op_pending);
  robust_list* const before = pending;  // of a mutex, if we are in a signal handler
  pending = reinterpret_cast<robust_list*>(&lock.next);
  const bool claimed = lock.word.compare_exchange_strong(expected, owner_);
  if (claimed) link(*list_, lock);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  pending = before;
  return claimed;
}

ClaimedSlot claim_process_slot(SessionView session) {
  const Claimant claimant(Claimant::Thread::kOwn);
  ClaimedSlot claimed;
  const auto lock_of = [&](uint32_t i) {
    PoolPart* const part = map_part(session, i);
    claimed.slot = part != nullptr ? &part->slot : nullptr;
    return claimed.slot != nullptr ? &claimed.slot->lock : nullptr;
  };
  const bool found = claim_patiently(session, [&] {
    claimed.index = claim_part(claimant, session.header().slots_taken, session.rings(), lock_of);
    return claimed.index != session.rings();
  });
  if (found) return claimed;
  session.lobby().turned_away.fetch_add(1, std::memory_order_relaxed);
  return {};
}

ClaimedRing claim_ring(SessionView session, Claimant::Thread thread, IfNoRing if_no_ring) {
  const uint32_t rings = session.rings();
  const Claimant claimant(thread);
  ClaimedRing ring;
  const auto lock_of = [&](uint32_t i) {
    PoolPart* const part = map_part(session, i);
    ring.ring = part != nullptr ? &part->ring : nullptr;
    return ring.ring != nullptr ? &ring.ring->lock : nullptr;
  };
  const auto try_claim = [&] {
    ring.index = claim_part(claimant, session.header().rings_taken, rings, lock_of);
    return ring.index != rings;
  };
  const bool found =
      if_no_ring == IfNoRing::kWait ? claim_patiently(session, try_claim) : try_claim();
  return found ? ring : ClaimedRing{};
}

}  // namespace heaptape::recorder
