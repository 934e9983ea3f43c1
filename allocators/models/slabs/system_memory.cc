#include "allocators/models/slabs/system_memory.h"

namespace heaptape::allocators::slabs {

uint64_t SystemMemory::map_down_to(uint64_t limit, uint64_t bytes, uint64_t alignment,
                                   const CommitRule& rule) {
  if (lowest_ < limit || bytes > lowest_ - limit || lowest_ - limit - bytes < alignment) return 0;
  lowest_ = round_down(lowest_ - bytes, alignment);
  mapped_bytes_ += bytes;
  space_.commit({lowest_, lowest_ + bytes}, rule);
  return lowest_;
}

uint64_t SystemMemory::map(uint64_t bytes, const CommitRule& rule) {
  const uint64_t base = map_down_to(kBlocksEnd, bytes, kPageBytes, rule);
  if (base == 0) return 0;
  for_blocks_.push_back({base, base + bytes});
  written_.extend_to(page_at(base) + 1);
  return base;
}

void SystemMemory::append_absent(std::vector<AddressRange>& ranges) const {
  for (const AddressRange& mapping : for_blocks_) {
    const uint64_t end = page_at(mapping.begin) + 1;
    for (uint64_t page = page_at(mapping.end - 1); page < end;) {
      const uint64_t first = written_.next_unwritten(page, end);
      page = written_.next_written(first, end);
      if (first != page) ranges.push_back({end_of(page), end_of(first)});
    }
  }
}

}  // namespace heaptape::allocators::slabs
