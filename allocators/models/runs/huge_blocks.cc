#include "allocators/models/runs/huge_blocks.h"

#include <algorithm>

#include "base/check.h"

namespace heaptape::allocators::runs {
namespace {

// CommitRule::words.
constexpr char kAboveRuns[] =
    "above % bytes a block has chunks of its own, and no kept chunks serve for % bytes: new ones";
constexpr char kAlignedBeyondRuns[] =
    "no run holds a block aligned to % bytes: it has chunks of its own, and no kept ones serve: "
    "new ones";

}  // namespace

Placement HugeBlocks::allocate(uint64_t bytes, uint64_t alignment) {
  if (bytes > kMostRequestBytes) return {};
  const uint64_t chunk_bytes = round_up(bytes, kRunChunkBytes);
  // Smaller blocks come here only for their alignment.
  const CommitRule rule = bytes > kLargeMaxBytes
                              ? CommitRule{kAboveRuns, {kLargeMaxBytes, chunk_bytes}}
                              : CommitRule{kAlignedBeyondRuns, {alignment}};
  const uint64_t address = space_.map(chunk_bytes, std::max(alignment, kRunChunkBytes), rule);
  if (address == 0) return {};
  // The pages after the usable part stay committed: the original gives them back only if it is
  // built with MALLOC_DECOMMIT, which Linux builds are not. But nothing writes to them.
  const uint64_t usable = round_up(bytes, kRunPageBytes);
  usable_bytes_.emplace(address, usable);
  mapped_bytes_ += chunk_bytes;
  return {address, usable};
}

void HugeBlocks::release(uint64_t address) {
  const auto block = usable_bytes_.find(address);
  HEAPTAPE_CHECK(block != usable_bytes_.end());
  const uint64_t chunk_bytes = round_up(block->second, kRunChunkBytes);
  usable_bytes_.erase(block);
  mapped_bytes_ -= chunk_bytes;
  space_.unmap({address, address + chunk_bytes});
}

uint64_t HugeBlocks::usable_bytes(uint64_t address) const {
  const auto block = usable_bytes_.find(address);
  HEAPTAPE_CHECK(block != usable_bytes_.end());
  return block->second;
}

bool HugeBlocks::try_resize_in_place(uint64_t address, uint64_t bytes) {
  uint64_t& usable = usable_bytes_.at(address);
  if (bytes > kMostRequestBytes ||
      round_up(bytes, kRunChunkBytes) != round_up(usable, kRunChunkBytes)) {
    return false;
  }
  usable = std::max(usable, round_up(bytes, kRunPageBytes));
  return true;
}

void HugeBlocks::append_absent(std::vector<AddressRange>& ranges) const {
  for (const auto& [address, usable] : usable_bytes_) {
    const uint64_t end = address + round_up(usable, kRunChunkBytes);
    if (address + usable != end) ranges.push_back({address + usable, end});
  }
}

}  // namespace heaptape::allocators::runs
