#include "recorder/collector/ring_run.h"

#include <algorithm>

namespace heaptape::recorder {

CallRun RingRun::take(RingCursor& ring, uint64_t last_order) {
  ring_count_ = 1;
  cursors_.front() = &ring;
  ring.take(batches_.front(), last_order);
  return batches_.front().run();
}

CallRun RingRun::take(std::vector<RingCursor*>& heap, uint64_t cut, uint32_t most) {
  ring_count_ = 0;
  do {
    std::ranges::pop_heap(heap, is_later);
    cursors_[ring_count_] = heap.back();
    batches_[ring_count_++].count = 0;
    heap.pop_back();
  } while (ring_count_ < kMostRings && !heap.empty());
  const uint64_t last = heap.empty() ? cut : std::min(cut, heap.front()->order());
  const uint64_t last_of_all = take_batches(last, most);
  if (is_of_one()) {
    return batches_.front().run();
  }
  merge(last_of_all);
  return {events_.first(count_), stacks_.data(), stamps_.data(), 0};
}

// Takes calls up to `last`, and returns the stamp up to which they are all there.
uint64_t RingRun::take_batches(uint64_t last, uint32_t most) {
  for (size_t i = 0; i < ring_count_; ++i) {
    CallBatch& batch = batches_[i];
    cursors_[i]->take(batch, last, most);
    if (batch.count == 0) {
      if (cursors_[i]->is_beside_events()) last = std::min(last, cursors_[i]->order());
      continue;
    }
    if (!batch.is_stamped) {
      if (i == 0) break;
      // Behind calls with a stamp: only a hostile thread writes that. It waits for its turn.
      cursors_[i]->return_from(batch, 0);
      batch.count = 0;
      continue;
    }
    if (batch.is_cut_short || cursors_[i]->is_dead()) {
      last = std::min(last, batch.stamps[batch.count - 1]);
    }
  }
  return last;
}

void RingRun::merge(uint64_t last) {
  std::array<uint64_t, kMostRings> next;  // stamps; of one that is used up the highest
  std::array<uint32_t, kMostRings> used{};
  std::array<uint32_t, kMostRings> limits;
  size_t total = 0;
  for (size_t i = 0; i < ring_count_; ++i) {
    const std::span<const uint64_t> stamps = batches_[i].stamps.first(batches_[i].count);
    limits[i] = static_cast<uint32_t>(std::ranges::upper_bound(stamps, last) - stamps.begin());
    next[i] = limits[i] != 0 ? stamps[0] : UINT64_MAX;
    total += limits[i];
  }
  for (count_ = 0; count_ < total; ++count_) {
    size_t first = 0;
    for (size_t i = 1; i < ring_count_; ++i) first = next[i] < next[first] ? i : first;
    const uint32_t at = used[first];
    if (at == limits[first]) break;  // a hostile thread's stamp is the highest, too
    const CallBatch& batch = batches_[first];
    events_[count_] = batch.events[at];
    stacks_[count_] = batch.stacks[at];
    stamps_[count_] = batch.stamps[at];
    sources_[count_] = static_cast<uint8_t>(first);
    used[first] = at + 1;
    next[first] = at + 1 < limits[first] ? batch.stamps[at + 1] : UINT64_MAX;
  }
}

void RingRun::keep(size_t written) {
  if (is_of_one()) {
    cursors_.front()->return_from(batches_.front(), static_cast<uint32_t>(written));
    return;
  }
  std::array<uint32_t, kMostRings> kept{};
  for (size_t i = 0; i < written; ++i) ++kept[sources_[i]];
  for (size_t i = 0; i < ring_count_; ++i) cursors_[i]->return_from(batches_[i], kept[i]);
}

}  // namespace heaptape::recorder
