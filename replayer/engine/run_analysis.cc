#include "replayer/engine/run_analysis.h"

#include <algorithm>

#include "replayer/engine/block_check.h"

namespace heaptape::replayer {

using allocators::RegionEvent;
using allocators::ReplayKind;
using allocators::ReplayOp;

RunAnalysis::RunAnalysis(const allocators::BackendTraits& traits, uint64_t recorded_break)
    : places_blocks_(traits.places_blocks),
      checked_granule_(traits.is_foreign_code ? uint64_t{1} << traits.granule_log2 : 0),
      map_(traits.granule_log2, traits.min_hole_bytes),
      fidelity_(recorded_break, traits) {
  metrics_.follows_blocks = traits.places_blocks || !traits.is_foreign_code;
}

void RunAnalysis::start(const std::vector<RegionEvent>& regions) {
  for (const RegionEvent& region : regions) apply(region, 0, 0);
  note_holes_at_peak();
}

base::Status RunAnalysis::add(const ResolvedBatch& batch, const allocators::BatchResult& result) {
  if (placed_.size() < batch.slot_limit) {
    placed_.resize(std::max<size_t>(batch.slot_limit, placed_.size() * 2));
    sizes_.resize(placed_.size());
  }
  auto region = result.regions.begin();
  for (size_t i = 0; i < batch.ops.size(); ++i) {
    const ReplayOp& op = batch.ops[i];
    const uint64_t event = batch.first_event + i + 1;
    if (new_committed_peak_) [[unlikely]] {
      const bool has_region = region != result.regions.end() && region->op == i;
      if (!has_region || !makes_a_peak(*region)) note_holes_at_peak();
    }
    take_away(op, result.placements[i]);
    for (; region != result.regions.end() && region->op == i; ++region) {
      apply(*region, event, batch.live_bytes[i]);
    }
    const bool fits = put_back(op, result.placements[i], event, batch.recorded_addresses[i]);
    if (checked_granule_ != 0 && result.placements[i].address != 0 &&
        !(fits && is_sound(op, result.placements[i], checked_granule_))) [[unlikely]] {
      return base::Error::target(describe_flaw(op, result.placements[i], checked_granule_))
          .at_event(event);
    }
    if (checked_granule_ != 0 &&
        result.placements[i].address % wanted_alignment(op, checked_granule_) != 0) [[unlikely]] {
      if (metrics_.misaligned_blocks++ == 0) metrics_.first_misaligned = event;
    }
  }
  note_holes_at_peak();
  events_ = batch.first_event + batch.ops.size();
  for (; region != result.regions.end(); ++region) apply(*region, events_, batch.live.live_bytes);
  note_holes_at_peak();
  live_ = batch.live;
  metrics_.replay_ns += result.elapsed_ns;
  return {};
}

// When the memory held is what it was at the peak, and more is certain to come to it: the holes of
// the peak before will not be asked for. An allocator that takes page after page makes a peak of
// every event, and the holes of each would take a microsecond to sum up.
bool RunAnalysis::makes_a_peak(const RegionEvent& region) const {
  return region.kind == RegionEvent::Kind::kCommit &&
         map_.committed_bytes() == metrics_.committed_bytes_peak.value &&
         !map_.holds_any_of(region.range);
}

// Between the events: the block of the last one is then in place.
void RunAnalysis::note_holes_at_peak() {
  if (!new_committed_peak_) return;
  metrics_.holes_at_committed_peak = holes();
  new_committed_peak_ = false;
}

// The first half of an op, before its memory calls take effect: the block that it gives up.
void RunAnalysis::take_away(const ReplayOp& op, const Placement& placement) {
  if (op.kind == ReplayKind::kFree) {
    remove(op.slot);
  } else if (op.kind == ReplayKind::kRealloc && placement.address != 0) {
    const Placement& old = placed_[op.slot];
    if (old.address == placement.address) {
      ++metrics_.resizes.in_place;
    } else if (old.address != 0) {
      ++metrics_.resizes.moved;
      metrics_.resizes.moved_bytes += std::min(sizes_[op.slot], op.size);
      remove(op.slot);
    }
  }
}

// The second half: the block that it placed, or kept.
bool RunAnalysis::put_back(const ReplayOp& op, const Placement& placement, uint64_t event,
                           uint64_t recorded_address) {
  if (op.kind == ReplayKind::kNothing) return true;
  ++metrics_.accounting.replayed;
  if (op.kind == ReplayKind::kFree || op.kind == ReplayKind::kFreeNull) return true;
  if (!places_blocks_ && checked_granule_ == 0) return true;
  if (placement.address == 0) {
    --metrics_.accounting.replayed;
    ++metrics_.accounting.refused;
    return true;
  }
  if (!places_blocks_) return true;
  Placement& block = placed_[op.slot];
  bool fits;
  if (block.address == placement.address) {
    fits = map_.resize(block.address, block.usable_bytes, placement.usable_bytes);
    usable_bytes_ += placement.usable_bytes - block.usable_bytes;
    block = placement;
  } else {
    fits = place(op.slot, placement);
  }
  sizes_[op.slot] = op.size;
  metrics_.usable_bytes_peak.update(usable_bytes_, event);
  fidelity_.compare(event, op.thread, recorded_address, placement);
  return fits;
}

bool RunAnalysis::place(uint32_t slot, const Placement& placement) {
  usable_bytes_ += placement.usable_bytes;
  placed_[slot] = placement;
  return map_.place(placement.address, placement.usable_bytes);
}

void RunAnalysis::remove(uint32_t slot) {
  Placement& block = placed_[slot];
  if (block.address == 0) return;
  map_.remove(block.address, block.usable_bytes);
  usable_bytes_ -= block.usable_bytes;
  block = {};
}

void RunAnalysis::apply(const RegionEvent& region, uint64_t event, uint64_t live_bytes) {
  if (region.kind == RegionEvent::Kind::kDecommit) {
    map_.decommit(region.range);
    return;
  }
  map_.commit(region.range);
  if (map_.committed_bytes() <= metrics_.committed_bytes_peak.value) return;
  metrics_.committed_bytes_peak = {map_.committed_bytes(), event};
  metrics_.live_bytes_at_committed_peak = live_bytes;
  new_committed_peak_ = true;
}

void RunAnalysis::sample(const allocators::Residency& residency) {
  Snapshot snapshot;
  snapshot.at = events_;
  snapshot.live = live_;
  snapshot.usable_bytes = usable_bytes_;
  snapshot.committed_bytes = map_.committed_bytes();
  snapshot.resident_bytes = residency.resident_bytes;
  snapshot.holes = holes();
  snapshot.resident_hole_bytes = snapshot.holes.bytes;
  if (residency.absent) {
    snapshot.resident_hole_bytes -= map_.absent_hole_bytes(*residency.absent);
  }
  note_resident(snapshot.resident_bytes);
  metrics_.end = snapshot;
  metrics_.timeline.push_back(snapshot);
}

ActionResult& RunAnalysis::perform(const std::string& action, const allocators::Residency& before,
                                   const allocators::GivenBack& given_back) {
  ActionResult result{.action = action, .at = events_, .elapsed_ns = given_back.elapsed_ns};
  result.before = {map_.committed_bytes(), before.resident_bytes};
  note_resident(before.resident_bytes);
  for (const RegionEvent& region : given_back.regions) apply(region, events_, live_.live_bytes);
  note_holes_at_peak();
  result.after.committed_bytes = map_.committed_bytes();
  metrics_.actions.push_back(result);
  return metrics_.actions.back();
}

RunMetrics RunAnalysis::take_metrics() {
  metrics_.same_offset_share = fidelity_.same_share();
  metrics_.compared_blocks = fidelity_.compared();
  metrics_.first_difference = fidelity_.first_difference();
  return std::move(metrics_);
}

}  // namespace heaptape::replayer
