#include "replayer/heap_map/unseen_memory.h"

#include <algorithm>

#include "base/address/pages.h"

namespace heaptape::replayer {

void UnseenMemory::add(AddressRange range) {
  std::vector<AddressRange> parts;
  map_.for_each_gap(range, [&](AddressRange, AddressRange gap) {
    const AddressRange part = base::common_part(gap, range);
    if (part.begin < part.end) parts.push_back(part);
  });
  for (const AddressRange part : parts) rework(part, [&] { stretches_.add(part); });
}

void UnseenMemory::give_back(AddressRange range) {
  if (stretches_.overlaps(range)) rework(range, [&] { stretches_.remove(range); });
}

bool UnseenMemory::is_beside(AddressRange gap) const {
  bool is_beside = false;
  stretches_.for_each_touching(gap, [&is_beside](AddressRange) { is_beside = true; });
  return is_beside;
}

void UnseenMemory::uncover(uint64_t address, uint64_t usable_bytes) {
  AddressRange block{
      base::round_down(address, map_.granule_bytes()),
      base::round_up(address + std::max<uint64_t>(usable_bytes, 1), map_.granule_bytes())};
  if (!stretches_.overlaps(block)) return;
  const AddressRange first = stretches_.find(block.begin);
  const AddressRange last = stretches_.find(block.end - 1);
  AddressRange gone = block;
  if (first.bytes() != 0 && block.begin - first.begin < min_hole_bytes_) gone.begin = first.begin;
  if (last.bytes() != 0 && last.end - block.end < min_hole_bytes_) gone.end = last.end;
  rework(block, [&] { stretches_.remove(gone); });
}

template <typename Edit>
void UnseenMemory::rework(AddressRange window, Edit change) {
  stretches_.for_each_touching(
      window, [this](AddressRange stretch) { map_.remove(stretch.begin, stretch.bytes()); });
  change();
  stretches_.for_each_touching(
      window, [this](AddressRange stretch) { map_.place(stretch.begin, stretch.bytes()); });
}

UnseenSides unseen_sides(std::span<const AddressRange> ranges, AddressRange gap) {
  const auto next = std::ranges::lower_bound(ranges, gap.end, {}, &AddressRange::begin);
  return {.before = next != ranges.begin() && std::prev(next)->end == gap.begin,
          .after = next != ranges.end() && next->begin == gap.end};
}

}  // namespace heaptape::replayer
