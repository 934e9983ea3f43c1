#include "recorder/interposer/claims.h"

#include "recorder/interposer/attach.h"
#include "recorder/interposer/session_map.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// Calls `try_claim` until it works, for kPatienceMs at most: the collector frees the claims of dead
// owners by itself.
template <typename TryClaim>
bool claim_patiently(SessionHeader& header, TryClaim try_claim) {
  if (try_claim()) return true;
  if (header.on_full != OnFull::kBlock) return false;
  for (uint32_t waited_ms = 0; waited_ms < kPatienceMs && !is_over(header); ++waited_ms) {
    header.ring_wanted = 1;
    wake_collector(header);
    nap_ms();
    if (try_claim()) return true;
  }
  return false;
}

// The index of a part that was free and now is the claimant's; `count` if there is none.
// `lock_of(index)` is null for a part that cannot be mapped, which is skipped. Low parts come
// first, so that little of the session is ever touched.
template <typename LockOf>
uint32_t claim_part(const Claimant& claimant, Occupancy& taken, uint32_t count, LockOf lock_of) {
  const uint32_t begin = taken.lowest_free.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t index = (begin + i) % count;
    OwnerLock* const lock = lock_of(index);
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

ClaimedSlot claim_process_slot(SessionView session) {
  const Claimant claimant(Claimant::Thread::kOwn);
  ClaimedSlot claimed;
  const auto lock_of = [&](uint32_t i) {
    char* const block = map_block(session, i / kBlockParts);
    claimed.slot = block != nullptr ? &SessionView::process_in(block, i) : nullptr;
    return claimed.slot != nullptr ? &claimed.slot->lock : nullptr;
  };
  const bool found = claim_patiently(session.header(), [&] {
    claimed.index = claim_part(claimant, session.header().slots_taken, kProcessSlots, lock_of);
    return claimed.index != kProcessSlots;
  });
  if (found) return claimed;
  session.header().turned_away.fetch_add(1, std::memory_order_relaxed);
  return {};
}

ClaimedRing claim_ring(SessionView session, Claimant::Thread thread, IfNoRing if_no_ring) {
  SessionHeader& header = session.header();
  // Read once, because others can write there.
  const uint32_t said = std::atomic_ref(header.rings).load(std::memory_order_relaxed);
  const uint32_t rings = said < kRings ? said : kRings;
  const Claimant claimant(thread);
  ClaimedRing ring;
  const auto lock_of = [&](uint32_t i) {
    char* const block = map_block(session, i / kBlockParts);
    ring.ring = block != nullptr ? &SessionView::ring_in(block, i) : nullptr;
    return ring.ring != nullptr ? &ring.ring->lock : nullptr;
  };
  const auto try_claim = [&] {
    ring.index = claim_part(claimant, header.rings_taken, rings, lock_of);
    return ring.index != rings;
  };
  const bool found =
      if_no_ring == IfNoRing::kWait ? claim_patiently(header, try_claim) : try_claim();
  return found ? ring : ClaimedRing{};
}

}  // namespace heaptape::recorder
