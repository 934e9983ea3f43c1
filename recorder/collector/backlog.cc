#include "recorder/collector/backlog.h"

#include <algorithm>

#include "recorder/collector/ring_tap.h"

namespace heaptape::recorder {

Backlog::Segment Backlog::take_segment() {
  Segment segment;
  if (spares_.empty()) {
    segment = std::make_unique_for_overwrite<uint64_t[]>(kSegmentWords);
  } else {
    segment = std::move(spares_.back());
    spares_.pop_back();
  }
  bytes_.fetch_add(kSegmentBytes, std::memory_order_relaxed);
  return segment;
}

void Backlog::give_back(std::vector<Segment>& segments) {
  {
    const std::scoped_lock lock(mutex_);
    bytes_.fetch_sub(segments.size() * kSegmentBytes, std::memory_order_relaxed);
    while (!segments.empty() && spares_.size() < kMostSpares) {
      spares_.push_back(std::move(segments.back()));
      segments.pop_back();
    }
  }
  segments.clear();
}

void Backlog::drop_spares() {
  const std::scoped_lock lock(mutex_);
  spares_.clear();
  spares_.shrink_to_fit();
}

void Backlog::add(RingTap& tap) {
  const std::scoped_lock lock(mutex_);
  taps_.push_back(&tap);
  tap_count_ = taps_.size();
}

void Backlog::remove(RingTap& tap) {
  const std::scoped_lock lock(mutex_);
  std::erase(taps_, &tap);
  tap_count_ = taps_.size();
}

Backlog::Pulled Backlog::pull_half_full() {
  const std::scoped_lock lock(mutex_);
  Pulled pulled;
  for (RingTap* const tap : taps_) {
    if (!tap->is_half_full()) continue;
    if (has_room_for(kRingWords)) {
      pulled.was_waited_for |= tap->is_waited_for();
      tap->pull();
    } else {
      pulled.has_room = false;
    }
  }
  return pulled;
}

void Backlog::note_busy(OtherProcessors& others, uint64_t now_ns) {
  const std::scoped_lock lock(mutex_);
  for (RingTap* const tap : taps_) {
    if (const auto processor = tap->busy_processor()) others.note(*processor, now_ns);
  }
}

bool Backlog::has_half_full_ring() {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(taps_, [](const RingTap* tap) { return tap->is_half_full(); });
}

}  // namespace heaptape::recorder
