#include "allocators/models/pagealign/page_sources.h"

namespace heaptape::allocators {
namespace {

constexpr uint64_t kSpaceEnd = uint64_t{1} << 47;  // of a process on x86-64

constexpr uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) & ~(multiple - 1);
}

}  // namespace

MappedPages::MappedPages(AddressSpace& space, AnyModel&) : space_(space) {
  unmapped_.insert({kWrapperBase, kSpaceEnd});
}

PageMemory MappedPages::take(uint64_t bytes, uint64_t alignment) {
  if (bytes == 0 || bytes > kSpaceEnd || alignment > kSpaceEnd) return {};
  const uint64_t mapped = round_up(bytes, kModelPageBytes);
  const uint64_t address = unmapped_.take_best(mapped, alignment, alignment - kModelPageBytes);
  if (address == 0) return {};
  ++maps_;
  pages_mapped_ += mapped / kModelPageBytes;
  space_.commit({address, address + mapped});
  return {address, mapped, address};
}

void MappedPages::give_back(uint64_t address, const PageBlock& block) {
  const AddressRange range{address, address + round_up(block.bytes, kModelPageBytes)};
  ++unmaps_;
  space_.decommit(range);
  unmapped_.insert(range);
}

void MappedPages::add_counters(std::vector<Counter>& list) const {
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

}  // namespace heaptape::allocators
