#include "replayer/answers/holes.h"

#include <algorithm>
#include <functional>
#include <span>

#include "base/address/pages.h"
#include "replayer/heap_map/hole_stats.h"

namespace heaptape::replayer {
namespace {

using base::AddressRange;
using base::page_down;
using base::page_up;

uint64_t absent_bytes(const HeapPicture& picture, AddressRange range) {
  if (!picture.absent || range.begin >= range.end) return 0;
  const std::vector<AddressRange>& absent = *picture.absent;
  auto part = std::ranges::upper_bound(absent, range.begin, {}, &AddressRange::end);
  uint64_t bytes = 0;
  for (; part != absent.end() && part->begin < range.end; ++part) {
    bytes += base::common_part(*part, range).bytes();
  }
  return bytes;
}

// In the whole pages of `range`.
uint64_t purgeable_bytes(const HeapPicture& picture, AddressRange range) {
  const AddressRange pages = {page_up(range.begin), page_down(range.end)};
  return pages.begin < pages.end ? pages.bytes() - absent_bytes(picture, pages) : 0;
}

// The range of a block: whole granules, at least one.
AddressRange granules_of(const HeapPicture& picture, const LiveBlock& block) {
  const uint64_t granule = uint64_t{1} << picture.granule_log2;
  return {base::round_down(block.address, granule),
          base::round_up(block.address + std::max<uint64_t>(block.usable_bytes, 1), granule)};
}

AddressRange region_of(const HeapPicture& picture, uint64_t address) {
  const auto region = std::ranges::upper_bound(picture.regions, address, {}, &AddressRange::end);
  if (region == picture.regions.end() || region->begin > address) return {};
  return *region;
}

// The free bytes before and after a block, within its region.
struct Surroundings {
  AddressRange before;
  AddressRange after;
};

Surroundings around(const HeapPicture& picture, size_t block) {
  const AddressRange own = granules_of(picture, picture.blocks[block]);
  const AddressRange region = region_of(picture, own.begin);
  Surroundings free = {{region.begin, own.begin}, {own.end, std::max(own.end, region.end)}};
  if (region.bytes() == 0) return {{own.begin, own.begin}, {own.end, own.end}};
  if (block != 0) {
    const AddressRange previous = granules_of(picture, picture.blocks[block - 1]);
    free.before.begin = std::min(std::max(region.begin, previous.end), own.begin);
  }
  if (block + 1 < picture.blocks.size()) {
    const AddressRange next = granules_of(picture, picture.blocks[block + 1]);
    free.after.end = std::max(std::min(region.end, next.begin), own.end);
  }
  if (!picture.unseen) return free;
  const auto next = std::ranges::lower_bound(*picture.unseen, own.end, {}, &AddressRange::begin);
  if (next != picture.unseen->begin()) {
    free.before.begin =
        std::min(std::max(free.before.begin, std::prev(next)->end), free.before.end);
  }
  if (next != picture.unseen->end()) {
    free.after.end = std::max(std::min(free.after.end, next->begin), free.after.begin);
  }
  return free;
}

// The blocks and the unseen memory of a heap, by address.
class Neighbors {
 public:
  explicit Neighbors(const HeapPicture& picture)
      : picture_(picture),
        unseen_(picture.unseen ? std::span<const AddressRange>(*picture.unseen)
                               : std::span<const AddressRange>()) {
    read();
  }

  // Passes those that end there or before.
  void skip_to(uint64_t address) {
    while (is_there_ && range_.end <= address) advance();
  }
  // Whether there is a next one that begins before `address`.
  bool is_before(uint64_t address) const { return is_there_ && range_.begin < address; }
  AddressRange range() const { return range_; }
  // In HeapPicture::blocks; kNoBlock: it is unseen memory.
  size_t block() const { return block_; }
  // The same of the one before.
  size_t last_block() const { return last_block_; }

  void advance() {
    last_block_ = block_;
    ++(block_ == kNoBlock ? next_unseen_ : next_block_);
    read();
  }

 private:
  void read() {
    const bool has_block = next_block_ < picture_.blocks.size();
    const bool has_unseen = next_unseen_ < unseen_.size();
    is_there_ = has_block || has_unseen;
    if (has_block) range_ = granules_of(picture_, picture_.blocks[next_block_]);
    const bool is_block = has_block && !(has_unseen && unseen_[next_unseen_].begin <= range_.begin);
    block_ = is_block ? next_block_ : kNoBlock;
    if (has_unseen && !is_block) range_ = unseen_[next_unseen_];
  }

  const HeapPicture& picture_;
  std::span<const AddressRange> unseen_;
  size_t next_block_ = 0;
  size_t next_unseen_ = 0;
  bool is_there_ = false;
  AddressRange range_;
  size_t block_ = kNoBlock;
  size_t last_block_ = kNoBlock;
};

}  // namespace

std::vector<Hole> find_holes(const HeapPicture& picture) {
  std::vector<Hole> holes;
  Neighbors neighbors(picture);
  for (const AddressRange& region : picture.regions) {
    uint64_t begin = region.begin;
    neighbors.skip_to(region.begin);
    for (; neighbors.is_before(region.end); neighbors.advance()) {
      const AddressRange range = neighbors.range();
      const AddressRange gap = {begin, range.begin};
      if (gap.begin < gap.end && gap.bytes() >= picture.min_hole_bytes &&
          gap_kind(region, gap) == GapKind::kInner) {
        const bool is_first = gap.begin == region.begin;
        holes.push_back({.range = gap,
                         .resident_bytes = gap.bytes() - absent_bytes(picture, gap),
                         .purgeable_bytes = purgeable_bytes(picture, gap),
                         .before = is_first ? kNoBlock : neighbors.last_block(),
                         .after = neighbors.block()});
        if (picture.unseen) holes.back().unseen = unseen_sides(*picture.unseen, gap);
      }
      begin = std::max(begin, range.end);
    }
  }
  return holes;
}

std::vector<Hole> largest_holes(std::vector<Hole> holes, uint64_t min_bytes, size_t most) {
  std::erase_if(holes, [min_bytes](const Hole& hole) { return hole.range.bytes() < min_bytes; });
  std::ranges::stable_sort(holes, std::greater(),
                           [](const Hole& hole) { return hole.range.bytes(); });
  if (holes.size() > most) holes.resize(most);
  return holes;
}

uint64_t bytes_behind_pin(const HeapPicture& picture, size_t block) {
  const Surroundings free = around(picture, block);
  return purgeable_bytes(picture, {free.before.begin, free.after.end}) -
         purgeable_bytes(picture, free.before) - purgeable_bytes(picture, free.after);
}

Pin pin_of(const HeapPicture& picture, const Hole& hole) {
  if (hole.is_open()) return {};
  const Surroundings behind = around(picture, hole.after);
  const Pin after = {hole.after, behind.after.end - behind.before.begin};
  if (hole.before == kNoBlock) return after;
  const Surroundings ahead = around(picture, hole.before);
  const Pin before = {hole.before, ahead.after.end - ahead.before.begin};
  const AddressRange region = region_of(picture, hole.range.begin);
  const bool is_header = gap_kind(region, ahead.before) == GapKind::kHeader;
  const PinSide side = pin_side({picture.blocks[hole.before], is_header ? 0 : ahead.before.bytes()},
                                {picture.blocks[hole.after], behind.after.bytes()});
  return side == PinSide::kBefore ? before : after;
}

PinSide pin_side(const BesideHole& before, const BesideHole& after) {
  const bool is_before = before.free_bytes_beyond != after.free_bytes_beyond
                             ? before.free_bytes_beyond > after.free_bytes_beyond
                             : before.block.birth > after.block.birth;
  return is_before ? PinSide::kBefore : PinSide::kAfter;
}

}  // namespace heaptape::replayer
