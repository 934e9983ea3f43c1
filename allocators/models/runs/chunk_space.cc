#include "allocators/models/runs/chunk_space.h"

namespace heaptape::allocators::runs {

ChunkSpace::ChunkSpace(AddressSpace& space) : space_(space) {
  unmapped_.insert({kModelBase, kTop});
}

uint64_t ChunkSpace::map(uint64_t bytes, uint64_t alignment, const CommitRule& rule) {
  if (bytes > kWrapperBase || alignment > kWrapperBase) return 0;
  if (const uint64_t kept = recycled_.take_best(bytes, alignment, alignment - kRunChunkBytes)) {
    return kept;
  }
  const uint64_t address = unmapped_.take_highest(bytes, alignment);
  if (address == 0) return 0;
  mapped_chunks_total_ += bytes >> kRunChunkLog2;
  space_.commit({address, address + bytes}, rule);
  return address;
}

void ChunkSpace::unmap(AddressRange chunks) {
  if (recycled_.total_bytes() < kRecycleLimitBytes) {
    recycled_.insert(chunks);
    return;
  }
  space_.decommit(chunks);
  unmapped_.insert(chunks);
}

}  // namespace heaptape::allocators::runs
