#include "allocators/models/pagealign/page_sources.h"

namespace heaptape::allocators::pagealign {

MappedPages::MappedPages(AddressSpace& space, AnyModel&) : space_(space) {
  unmapped_.insert({kWrapperBase, kSpaceEnd});
}

PageMemory MappedPages::take(uint64_t bytes, uint64_t alignment) {
  if (bytes == 0 || bytes > kSpaceEnd || alignment > kSpaceEnd) return {};
  const uint64_t mapped = page_up(bytes);
  const uint64_t address = unmapped_.take_best(mapped, alignment, alignment - kPageBytes);
  if (address == 0) return {};
  ++maps_;
  pages_mapped_ += mapped / kPageBytes;
  space_.commit({address, address + mapped});
  return {address, mapped, address};
}

void MappedPages::give_back(uint64_t address, const PageBlock& block) {
  const AddressRange range{address, address + page_up(block.bytes)};
  ++unmaps_;
  space_.decommit(range);
  unmapped_.insert(range);
}

void MappedPages::append_counters(std::vector<Counter>& list) const {
  list.push_back({"mmapCalls", maps_});
  list.push_back({"munmapCalls", unmaps_});
  list.push_back({"pagesMapped", pages_mapped_});
}

PageMemory PaddedPages::take(uint64_t bytes, uint64_t alignment) {
  if (bytes > UINT64_MAX - alignment) return {};
  const Placement block = base_.allocate(bytes + alignment - 1, 0);
  if (block.address == 0) return {};
  const uint64_t address = round_up(block.address, alignment);
  return {address, block.usable_bytes - (address - block.address), block.address};
}

PageMemory AlignedPages::take(uint64_t bytes, uint64_t alignment) {
  const Placement block = base_.allocate(bytes, alignment);
  return {block.address, block.usable_bytes, block.address};
}

}  // namespace heaptape::allocators::pagealign
