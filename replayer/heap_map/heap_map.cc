#include "replayer/heap_map/heap_map.h"

#include <algorithm>

namespace heaptape::replayer {

namespace {

using base::common_part;
using base::is_free_between;
using base::kAfterAllEdges;
using base::kBeforeAllEdges;

// Far below base::kAddressLimit, so that no search begins past the end of an EdgeBitmap.
constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 56;

bool covers(AddressRange outer, AddressRange inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

}  // namespace

HeapMap::HeapMap(int granule_log2, uint64_t min_hole_bytes)
    : granule_log2_(granule_log2),
      min_hole_bytes_(std::max<uint64_t>(min_hole_bytes, 1)),
      edges_(granule_log2),
      ledger_(granule_log2, min_hole_bytes) {}

void HeapMap::commit(AddressRange range) {
  range = whole_granules(range);
  if (range.begin >= range.end || covers(regions_.find(range.begin), range)) return;
  // When a region grows, only the gaps at the seams change.
  std::vector<AddressRange> parts;
  uint64_t at = range.begin;
  regions_.for_each_touching(range, [&](AddressRange region) {
    if (at < region.begin) parts.push_back({at, region.begin});
    at = std::max(at, region.end);
  });
  if (at < range.end) parts.push_back({at, range.end});
  for (const AddressRange part : parts) rework(part, [&] { regions_.add(part); });
}

void HeapMap::decommit(AddressRange range) {
  range = whole_granules(range);
  if (range.begin >= range.end) return;
  rework(range, [&] { regions_.remove(range); });
}

bool HeapMap::place(uint64_t address, uint64_t usable_bytes) {
  const Block block = block_at(address, usable_bytes);
  const AddressRange region = regions_.find(edges_.address_of(block.start));
  if (edges_.address_of(block.end) <= region.end) [[likely]] {
    if (const auto around = edges_.insert_block(block.start, block.end)) [[likely]] {
      account_block(region, block, *around, Change::kCame);
      return true;
    }
  }
  const Edge next = edges_.find_from(block.start);
  const bool is_inside = base::is_end(next);
  const bool overlaps = next <= block.end;
  rework(window_around(block, overlaps), [&] {
    edges_.insert(block.start);
    edges_.insert(block.end);
  });
  return !overlaps && !is_inside;
}

void HeapMap::remove(uint64_t address, uint64_t usable_bytes) {
  const Block block = block_at(address, usable_bytes);
  const AddressRange region = regions_.find(edges_.address_of(block.start));
  if (edges_.address_of(block.end) <= region.end) [[likely]] {
    if (const auto around = edges_.erase_block(block.start, block.end)) [[likely]] {
      account_block(region, block, *around, Change::kGone);
      return;
    }
  }
  rework(window_around(block, !is_whole(block)), [&] {
    edges_.erase(block.start);
    edges_.erase(block.end);
  });
}

bool HeapMap::resize(uint64_t address, uint64_t old_usable_bytes, uint64_t new_usable_bytes) {
  const Block old_block = block_at(address, old_usable_bytes);
  const Edge new_end = block_at(address, new_usable_bytes).end;
  if (old_block.end == new_end) return true;
  const Block both = {old_block.start, std::max(old_block.end, new_end)};
  const AddressRange region = regions_.find(edges_.address_of(both.start));
  if (edges_.address_of(both.end) <= region.end) [[likely]] {
    if (const auto after = edges_.move_end(old_block.end, new_end)) [[likely]] {
      account(region, gap_in(region, old_block.end, *after), Change::kGone);
      account(region, gap_in(region, new_end, *after), Change::kCame);
      return true;
    }
  }
  const bool overlaps = !is_whole(old_block) || edges_.find_from(old_block.end + 1) <= new_end;
  rework(window_around(both, overlaps), [&] {
    edges_.erase(old_block.end);
    edges_.insert(new_end);
  });
  return !overlaps;
}

HoleStats HeapMap::holes() const {
  HoleStats stats = ledger_.snapshot();
  stats.top_bytes = top_bytes_;
  return stats;
}

uint64_t HeapMap::absent_hole_bytes(std::span<const AddressRange> absent) const {
  uint64_t absent_bytes = 0;
  for (const AddressRange range : absent) absent_bytes += range.bytes();
  if (absent_bytes <= committed_bytes() / 2) return hole_bytes_in(absent);
  std::vector<AddressRange> others;
  uint64_t at = 0;
  for (const AddressRange range : absent) {
    if (at < range.begin) others.push_back({at, range.begin});
    at = range.end;
  }
  if (at < kUserSpaceEnd) others.push_back({at, kUserSpaceEnd});
  return holes().bytes - hole_bytes_in(others);
}

uint64_t HeapMap::hole_bytes_in(std::span<const AddressRange> ranges) const {
  uint64_t bytes = 0;
  for (const AddressRange range : ranges) {
    for_each_gap(range, [&](AddressRange region, AddressRange gap) {
      if (is_hole(region, gap)) bytes += common_part(gap, range).bytes();
    });
  }
  return bytes;
}

std::vector<AddressRange> HeapMap::scan_holes() const {
  std::vector<AddressRange> holes;
  const std::vector<AddressRange> regions = regions_.ranges();
  auto region = regions.begin();
  Edge last = kBeforeAllEdges;
  const auto visit = [&](Edge edge) {
    const AddressRange between = {edges_.address_of(last), edges_.address_of(edge)};
    const bool is_free = is_free_between(last, edge);
    last = edge;
    while (region != regions.end() && region->end <= between.begin) ++region;
    for (auto it = region; is_free && it != regions.end() && it->begin < between.end; ++it) {
      const AddressRange gap = common_part(between, *it);
      if (is_hole(*it, gap)) holes.push_back(gap);
    }
  };
  edges_.scan(visit);
  visit(kAfterAllEdges);
  return holes;
}

inline HeapMap::Block HeapMap::block_at(uint64_t address, uint64_t usable_bytes) const {
  const uint64_t begin = std::min(address, kUserSpaceEnd - 1);
  const uint64_t bytes = std::clamp<uint64_t>(usable_bytes, 1, kUserSpaceEnd - begin);
  return {edges_.start_at(begin), edges_.start_at(begin + bytes - 1) + 1};
}

AddressRange HeapMap::whole_granules(AddressRange range) const {
  const uint64_t mask = (uint64_t{1} << granule_log2_) - 1;
  return {std::min(range.begin, kUserSpaceEnd) & ~mask,
          (std::min(range.end, kUserSpaceEnd) + mask) & ~mask};
}

bool HeapMap::is_whole(Block block) const {
  return edges_.contains(block.start) && edges_.find_from(block.start + 1) == block.end;
}

bool HeapMap::is_hole(AddressRange region, AddressRange gap) const {
  return gap.bytes() >= min_hole_bytes_ && gap_kind(region, gap) == GapKind::kInner;
}

void HeapMap::account(AddressRange region, AddressRange gap, Change change) {
  switch (gap_kind(region, gap)) {
    case GapKind::kTop:
      top_bytes_ += change == Change::kCame ? gap.bytes() : -gap.bytes();
      break;
    case GapKind::kInner:
      ledger_.note(gap.bytes(), change);
      break;
    case GapKind::kHeader:
      break;
  }
}

// Runs for every event: GCC would not inline it by itself.
[[gnu::always_inline]] inline void HeapMap::account_block(AddressRange region, Block block,
                                                          EdgeBitmap::Gap around, Change change) {
  const AddressRange whole = gap_in(region, around.before, around.after);
  const AddressRange left = {whole.begin, edges_.address_of(block.start)};
  const AddressRange right = {edges_.address_of(block.end), whole.end};
  if (whole.begin != region.begin && whole.end != region.end) [[likely]] {
    ledger_.note_split(whole.bytes(), left.bytes(), right.bytes(), change);
    return;
  }
  account(region, whole, opposite(change));
  account(region, left, change);
  account(region, right, change);
}

AddressRange HeapMap::window_around(Block block, bool overlaps) const {
  const Edge before = edges_.find_before(block.start);
  const Edge after = edges_.find_from(block.end + 1);
  if (!overlaps && is_free_between(before, after)) {
    return {edges_.address_of(block.start), edges_.address_of(block.end)};
  }
  return {edges_.address_of(before), edges_.address_of(after)};
}

template <typename Edit>
void HeapMap::rework(AddressRange window, Edit edit) {
  const auto account_all = [&](Change change) {
    for_each_gap(window,
                 [&](AddressRange region, AddressRange gap) { account(region, gap, change); });
  };
  account_all(Change::kGone);
  edit();
  account_all(Change::kCame);
}

}  // namespace heaptape::replayer
