#include "replayer/answers/closeup.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/address/pages.h"

namespace heaptape::replayer {
namespace {

using base::AddressRange;

constexpr uint64_t kMarginBytes = 16 << 10;
constexpr size_t kMostHoles = 64;

AddressRange around(const Hole& hole) {
  return {base::page_down(hole.range.begin - std::min(hole.range.begin, kMarginBytes)),
          base::page_up(hole.range.end + kMarginBytes)};
}

// Indices of all things, given by address, of which at least a part is in the range. No two of them
// overlap.
struct Stretch {
  size_t begin;
  size_t end;

  size_t count() const { return end - begin; }
};

Stretch blocks_in(const HeapPicture& picture, AddressRange range) {
  const std::vector<LiveBlock>& blocks = picture.blocks;
  const auto begin = std::ranges::upper_bound(blocks, range.begin, {}, &LiveBlock::end);
  const auto end =
      std::ranges::lower_bound(begin, blocks.end(), range.end, {}, &LiveBlock::address);
  return {static_cast<size_t>(begin - blocks.begin()), static_cast<size_t>(end - blocks.begin())};
}

std::span<const Hole> holes_in(std::span<const Hole> holes, AddressRange range) {
  const auto end_of = [](const Hole& hole) { return hole.range.end; };
  const auto begin_of = [](const Hole& hole) { return hole.range.begin; };
  const auto begin = std::ranges::upper_bound(holes, range.begin, {}, end_of);
  const auto end = std::ranges::lower_bound(begin, holes.end(), range.end, {}, begin_of);
  return {begin, end};
}

// By address; those that touch are one.
std::vector<AddressRange> joined(std::vector<AddressRange> ranges) {
  std::ranges::sort(ranges, {}, &AddressRange::begin);
  std::vector<AddressRange> parts;
  for (const AddressRange& range : ranges) {
    if (!parts.empty() && range.begin <= parts.back().end) {
      parts.back().end = std::max(parts.back().end, range.end);
    } else {
      parts.push_back(range);
    }
  }
  return parts;
}

CloseupPart part_of(const HeapPicture& picture, std::span<const Hole> holes, AddressRange range) {
  CloseupPart part{.range = range};
  const std::span<const Hole> inside = holes_in(holes, range);
  Stretch blocks = blocks_in(picture, range);
  for (const Hole& hole : inside) {
    for (const size_t block : {hole.before, hole.after}) {
      if (block == kNoBlock) continue;
      blocks.begin = std::min(blocks.begin, block);
      blocks.end = std::max(blocks.end, block + 1);
    }
  }
  const auto place = [&blocks](size_t block) {
    return block == kNoBlock ? kNoBlock : block - blocks.begin;
  };
  part.blocks.assign(picture.blocks.begin() + static_cast<long>(blocks.begin),
                     picture.blocks.begin() + static_cast<long>(blocks.end));
  for (const Hole& hole : inside) {
    const auto free = picture.frees ? picture.frees->latest_in(hole.range) : std::nullopt;
    part.holes.push_back({.range = hole.range,
                          .resident_bytes = hole.resident_bytes,
                          .last_free_at = free ? free->event : 0,
                          .before = place(hole.before),
                          .after = place(hole.after)});
  }
  return part;
}

}  // namespace

Closeup close_up(const HeapPicture& picture, std::span<const Hole> holes, size_t most_blocks) {
  std::vector<const Hole*> ranked;
  for (const Hole& hole : holes) ranked.push_back(&hole);
  const size_t count = std::min(ranked.size(), kMostHoles);
  std::ranges::partial_sort(ranked, ranked.begin() + static_cast<long>(count),
                            [](const Hole* a, const Hole* b) {
                              if (a->resident_bytes != b->resident_bytes) {
                                return a->resident_bytes > b->resident_bytes;
                              }
                              return a->range.begin < b->range.begin;
                            });
  std::vector<AddressRange> ranges;
  size_t blocks = 0;
  for (size_t i = 0; i < count; ++i) {
    const AddressRange range = around(*ranked[i]);
    blocks += blocks_in(picture, range).count();
    if (!ranges.empty() && blocks > most_blocks) break;
    ranges.push_back(range);
  }
  Closeup closeup{.at = picture.at};
  for (const AddressRange& range : joined(std::move(ranges))) {
    closeup.parts.push_back(part_of(picture, holes, range));
  }
  return closeup;
}

}  // namespace heaptape::replayer
