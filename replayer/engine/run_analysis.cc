#include "replayer/engine/run_analysis.h"

#include <algorithm>

#include "base/address/pages.h"
#include "replayer/answers/holes.h"
#include "replayer/engine/block_check.h"

namespace heaptape::replayer {

using allocators::RegionEvent;
using allocators::ReplayKind;
using allocators::ReplayOp;

RunAnalysis::RunAnalysis(const allocators::BackendTraits& traits, const Options& options)
    : traits_(traits),
      places_blocks_(traits.places_blocks),
      checked_granule_(traits.is_foreign_code ? uint64_t{1} << traits.granule_log2 : 0),
      map_(traits.granule_log2, traits.min_hole_bytes),
      unseen_(map_, traits.min_hole_bytes),
      fidelity_(options.recorded_break, traits),
      heap_growths_(options.heap_growths),
      frees_(options.keep_frees ? std::make_shared<LastFrees>() : nullptr),
      film_(options.keep_film && traits.places_blocks
                ? std::make_shared<HeapFilm>(HeapFilm::Limits())
                : nullptr) {
  metrics_.follows_blocks = traits.places_blocks || !traits.is_foreign_code;
}

void RunAnalysis::start(const std::vector<RegionEvent>& regions) {
  for (const RegionEvent& region : regions) apply(region, 0, 0);
  note_holes_at_peak();
}

base::Status RunAnalysis::add(const ResolvedBatch& batch, const allocators::BatchResult& result) {
  blocks_.grow(batch.slot_limit);
  auto region = result.regions.begin();
  for (size_t i = 0; i < batch.ops.size(); ++i) {
    const ReplayOp& op = batch.ops[i];
    const uint64_t event = batch.first_event + i + 1;
    if (new_committed_peak_) [[unlikely]] {
      const bool has_region = region != result.regions.end() && region->op == i;
      if (!has_region || !makes_a_peak(*region)) note_holes_at_peak();
    }
    take_away(op, result.placements[i], event);
    if (region != result.regions.end() && region->op == i && heap_growths_.is_wanted())
        [[unlikely]] {
      watch_growth({region, result.regions.end()}, op, result.placements[i], event);
    }
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

void RunAnalysis::set_births(std::span<const uint64_t> births) {
  for (uint32_t slot = 0; slot < births.size(); ++slot) blocks_[slot].birth = births[slot];
}

void RunAnalysis::begin_range() {
  RunMetrics metrics;
  metrics.follows_blocks = metrics_.follows_blocks;
  metrics.usable_bytes_peak = {usable_bytes_, events_};
  metrics.committed_bytes_peak = {map_.committed_bytes(), events_};
  metrics.resident_bytes_peak.at = events_;  // the value comes from note_resident()
  metrics.live_bytes_at_committed_peak = live_.live_bytes;
  metrics.holes_at_committed_peak = holes();
  metrics_ = std::move(metrics);
  fidelity_.begin_range();
  heap_growths_.begin_range();
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

// `regions` begins with those of this op, which are yet to come.
void RunAnalysis::watch_growth(std::span<const RegionEvent> regions, const ReplayOp& op,
                               const Placement& placement, uint64_t event) {
  const bool is_free = op.kind == ReplayKind::kFree || op.kind == ReplayKind::kFreeNull;
  HeapGrowth growth{.event = event, .request_bytes = is_free ? 0 : op.size};
  uint64_t committed_bytes = map_.committed_bytes();
  for (const RegionEvent& region : regions) {
    if (region.op != regions.front().op) break;
    if (region.kind == RegionEvent::Kind::kDecommit) {
      committed_bytes -= std::min(committed_bytes, region.range.bytes());
    } else if (!region.is_unseen && !map_.holds_any_of(region.range)) {
      committed_bytes += region.range.bytes();
    }
  }
  const uint64_t peak_bytes = metrics_.committed_bytes_peak.value;
  growth.growth_bytes = committed_bytes > peak_bytes ? committed_bytes - peak_bytes : 0;
  if (!heap_growths_.is_kept(growth.growth_bytes)) return;
  for (const RegionEvent& region : regions) {
    if (region.op != regions.front().op) break;
    if (region.kind != RegionEvent::Kind::kCommit || region.is_unseen) continue;
    growth.add(region.range, allocators::text_of(region.rule));
  }
  const HoleStats before = holes();
  growth.largest_hole_bytes = before.largest;
  growth.free_bytes = before.bytes + before.top_bytes;
  growth.is_own_mapping = std::ranges::any_of(growth.ranges, [&](const auto& range) {
    return placement.address - range.begin < base::kPageBytes &&
           range.bytes() < growth.request_bytes + 2 * base::kPageBytes;
  });
  if (before.largest != 0 && before.largest >= growth.request_bytes / 2) {
    growth.pin = find_pin(before.largest);
  }
  heap_growths_.add(std::move(growth));
}

// Of the first hole of that size, as pin_of() finds it where there is a picture.
std::optional<LiveBlock> RunAnalysis::find_pin(uint64_t hole_bytes) const {
  using allocators::AddressRange;
  AddressRange ahead;  // the gaps around it
  AddressRange ahead_region;
  AddressRange hole;
  AddressRange behind;
  map_.visit_gaps_until({0, base::kAddressLimit}, [&](AddressRange region, AddressRange gap) {
    if (hole.bytes() != 0) {
      behind = gap;
      return true;
    }
    const bool is_it = gap.bytes() == hole_bytes && map_.is_hole(region, gap);
    (is_it ? hole : ahead) = gap;
    if (!is_it) ahead_region = region;
    return false;
  });
  const uint64_t granule = uint64_t{1} << traits_.granule_log2;
  const auto begin_of = [granule](const Block& block) {
    return base::round_down(block.address, granule);
  };
  const auto end_of = [granule](const Block& block) {
    return base::round_up(block.address + std::max<uint64_t>(block.usable_bytes, 1), granule);
  };
  const Block* before = nullptr;
  const Block* after = nullptr;
  blocks_.visit_until([&](const Block& block) {
    if (block.address == 0) return false;
    if (begin_of(block) == hole.end) after = &block;
    if (end_of(block) == hole.begin) before = &block;
    return before != nullptr && after != nullptr;
  });
  if (after == nullptr || unseen_.is_beside(hole)) return std::nullopt;
  if (before == nullptr) return live_block(*after);
  const bool is_header = gap_kind(ahead_region, ahead) == GapKind::kHeader;
  const uint64_t far_before = ahead.end == begin_of(*before) && !is_header ? ahead.bytes() : 0;
  const uint64_t far_after = behind.begin == end_of(*after) ? behind.bytes() : 0;
  const LiveBlock blocks[] = {live_block(*before), live_block(*after)};
  return blocks[pin_side({blocks[0], far_before}, {blocks[1], far_after}) == PinSide::kAfter];
}

// The first half of an op, before its memory calls take effect: the block that it gives up.
void RunAnalysis::take_away(const ReplayOp& op, const Placement& placement, uint64_t event) {
  if (op.kind == ReplayKind::kFree) {
    remove(op.slot, event);
  } else if (op.kind == ReplayKind::kRealloc && placement.address != 0) {
    const Block& old = blocks_[op.slot];
    if (old.address == placement.address) {
      ++metrics_.resizes.in_place;
    } else if (old.address != 0) {
      ++metrics_.resizes.moved;
      metrics_.resizes.moved_bytes += std::min(old.requested_bytes, op.size);
      remove(op.slot, event);
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
    if (places_blocks_ && op.kind != ReplayKind::kRealloc) blocks_[op.slot].birth = 0;
    return true;
  }
  if (!places_blocks_) return true;
  Block& block = blocks_[op.slot];
  bool fits;
  unseen_.hand_out(placement.address, placement.usable_bytes);
  if (block.address == placement.address) {
    fits = map_.resize(block.address, block.usable_bytes, placement.usable_bytes);
    usable_bytes_ += placement.usable_bytes - block.usable_bytes;
    block.usable_bytes = placement.usable_bytes;
  } else {
    fits = place(op, placement, event);
  }
  block.requested_bytes = op.size;
  metrics_.usable_bytes_peak.update(usable_bytes_, event);
  fidelity_.compare(event, op.thread, recorded_address, placement);
  return fits;
}

// A block that a resize moves was made where it was made first, and by whom.
bool RunAnalysis::place(const ReplayOp& op, const Placement& placement, uint64_t event) {
  Block& block = blocks_[op.slot];
  if (op.kind != ReplayKind::kRealloc || block.birth == 0) {
    block.birth = event;
    block.thread = op.thread;
  }
  usable_bytes_ += placement.usable_bytes;
  block.address = placement.address;
  block.usable_bytes = placement.usable_bytes;
  return map_.place(placement.address, placement.usable_bytes);
}

void RunAnalysis::remove(uint32_t slot, uint64_t event) {
  Block& block = blocks_[slot];
  if (block.address == 0) return;
  map_.remove(block.address, block.usable_bytes);
  if (frees_) frees_->note({block.address, block.address + block.usable_bytes}, event);
  usable_bytes_ -= block.usable_bytes;
  block.address = 0;
}

void RunAnalysis::apply(const RegionEvent& region, uint64_t event, uint64_t live_bytes) {
  if (region.kind == RegionEvent::Kind::kDecommit) {
    unseen_.give_back(region.range);
    map_.decommit(region.range);
    heap_growths_.note_given_back(region.range, event);
    return;
  }
  map_.commit(region.range);
  if (region.is_unseen) [[unlikely]] {
    unseen_.add(region.range);
    has_unseen_ = true;
  }
  if (map_.committed_bytes() <= metrics_.committed_bytes_peak.value) return;
  metrics_.committed_bytes_peak = {map_.committed_bytes(), event};
  metrics_.live_bytes_at_committed_peak = live_bytes;
  new_committed_peak_ = true;
}

Snapshot RunAnalysis::snapshot(const allocators::Residency& residency) const {
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
  return snapshot;
}

void RunAnalysis::look(std::span<const Moment> moments, const allocators::Residency& residency,
                       const allocators::KeptMemory& kept) {
  MomentState state{{}, snapshot(residency), {}};
  if (places_blocks_) state.account = account(residency, kept);
  const auto is_mark = [](const Moment& one) { return one.name.starts_with(kMarkPrefix); };
  take_frame(residency, !std::ranges::all_of(moments, is_mark));
  for (const Moment& moment : moments) {
    state.moment = moment;
    state.snapshot.time_ns = moment.time_ns;
    metrics_.moments.push_back(state);
  }
}

void RunAnalysis::note_pins(std::span<const PinningBlock> blocks, uint64_t run_calls) {
  constexpr size_t kMostSizes = 7;  // a report has these lists of each run and moment
  Cohorts cohorts(run_calls, kMostSizes);
  for (const PinningBlock& block : blocks) {
    cohorts.add(block.requested_bytes, block.birth, block.bytes);
  }
  const std::vector<Cohort> list = cohorts.list();
  for (MomentState* const state : last_moments()) state->pins = list;
}

void RunAnalysis::note_culprit(const std::optional<PinnedBy>& culprit) {
  for (MomentState* const state : last_moments()) state->culprit = culprit;
}

std::vector<MomentState*> RunAnalysis::last_moments() {
  std::vector<MomentState*> last;
  for (MomentState& state : metrics_.moments) {
    if (state.snapshot.at == events_ && !state.moment.name.starts_with(kMarkPrefix)) {
      last.push_back(&state);
    }
  }
  return last;
}

void RunAnalysis::sample(const allocators::Residency& residency, std::optional<uint64_t> time_ns) {
  metrics_.end = snapshot(residency);
  metrics_.end.time_ns = time_ns;
  note_resident(metrics_.end.resident_bytes);
  metrics_.timeline.push_back(metrics_.end);
  take_frame(residency, false);
}

// A frame visits every live block. Of a heap with very many blocks some frames are left out, so
// that the film takes a few visits a call at most.
void RunAnalysis::take_frame(const allocators::Residency& residency, bool is_kept) {
  if (film_ == nullptr) return;
  constexpr uint64_t kVisitsPerCall = 4;
  constexpr uint64_t kFreeVisits = 1 << 24;
  const uint64_t visits = film_visits_ + blocks_.size();
  if (!is_kept && visits > kFreeVisits + kVisitsPerCall * events_) return film_->pass_over();
  film_visits_ = visits;
  film_->begin(events_, map_, residency.absent, is_kept);
  blocks_.for_each([this](const Block& block) {
    if (block.address != 0) film_->add(live_block(block));
  });
  film_->end();
}

void RunAnalysis::note_own(const allocators::OwnStatistics& own) {
  MomentState& state = metrics_.moments.back();
  if (state.account) apply_own_statistics(own, state.snapshot.usable_bytes, *state.account);
}

std::vector<allocators::AddressRange> RunAnalysis::gaps() const {
  std::vector<allocators::AddressRange> gaps;
  if (!places_blocks_) return gaps;
  map_.for_each_gap([&gaps](AddressRange, AddressRange gap) { gaps.push_back(gap); });
  return gaps;
}

Account RunAnalysis::account(const allocators::Residency& residency,
                             const allocators::KeptMemory& kept) const {
  const uint64_t granule = uint64_t{1} << traits_.granule_log2;
  BlockSums sums{.live_bytes = 0, .usable_bytes = usable_bytes_};
  blocks_.for_each([&](const Block& block) {
    if (block.address == 0) return;
    const uint64_t end = block.address + block.usable_bytes;
    sums.live_bytes += block.requested_bytes;
    sums.rounding_bytes += base::round_up(end, granule) - end;
    sums.rounding_bytes += block.address - base::round_down(block.address, granule);
  });
  std::optional<TrimRule> trim;
  if (traits_.arena_heap_bytes == allocators::kGlibcHeapBytes) trim = {traits_.initial_break};
  return take_account(map_, sums, residency.absent, kept, trim, unseen());
}

std::optional<std::vector<allocators::AddressRange>> RunAnalysis::unseen() const {
  if (!has_unseen_) return std::nullopt;
  return unseen_.ranges();
}

LiveBlock RunAnalysis::live_block(const Block& block) {
  return {.address = block.address,
          .usable_bytes = block.usable_bytes,
          .requested_bytes = block.requested_bytes,
          .birth = block.birth,
          .thread = static_cast<uint32_t>(block.thread)};
}

HeapPicture RunAnalysis::picture(const allocators::Residency& residency) const {
  HeapPicture picture{.at = events_,
                      .granule_log2 = traits_.granule_log2,
                      .min_hole_bytes = traits_.min_hole_bytes,
                      .blocks = {},
                      .regions = map_.regions(),
                      .unseen = unseen(),
                      .absent = residency.absent,
                      .resident_bytes = residency.resident_bytes,
                      .frees = frees_};
  blocks_.for_each([&](const Block& block) {
    if (block.address != 0) picture.blocks.push_back(live_block(block));
  });
  std::ranges::sort(picture.blocks, {}, &LiveBlock::address);
  return picture;
}

void RunAnalysis::add(std::span<const RegionEvent> regions) {
  for (const RegionEvent& region : regions) apply(region, events_, live_.live_bytes);
  note_holes_at_peak();
}

ActionResult& RunAnalysis::perform(const std::string& action, const allocators::Residency& before,
                                   const allocators::GivenBack& given_back) {
  ActionResult result{.action = action, .at = events_, .elapsed_ns = given_back.elapsed_ns};
  result.before = {map_.committed_bytes(), before.resident_bytes};
  note_resident(before.resident_bytes);
  add(given_back.regions);
  result.after.committed_bytes = map_.committed_bytes();
  metrics_.actions.push_back(result);
  return metrics_.actions.back();
}

RunMetrics RunAnalysis::take_metrics() {
  metrics_.same_offset_share = fidelity_.same_share();
  metrics_.compared_blocks = fidelity_.compared();
  metrics_.first_difference = fidelity_.first_difference();
  metrics_.heap_growths = heap_growths_.list();
  return std::move(metrics_);
}

}  // namespace heaptape::replayer
