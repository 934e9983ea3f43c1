#include "allocators/models/slabs/metadata_blocks.h"

#include "base/check.h"

namespace heaptape::allocators::slabs {
namespace {

constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;
constexpr uint64_t kBlockHeaderBytes = 144;
// The memory that a base takes for itself.
constexpr uint64_t kOwnBytes = 2048;

// CommitRule::words.
constexpr char kFirstBlock[] = "a new arena begins a block of records, in pages of % bytes";
constexpr char kNextBlock[] =
    "no block of records has % bytes left: another begins, in pages of % bytes";

}  // namespace

MetadataBlocks::MetadataBlocks(SystemMemory& system) : system_(system) {
  bump(new_block(kOwnBytes, kQuantumBytes), kOwnBytes, kLineBytes);
}

// From the smallest remainder sure to suffice; of two in one class, from the older block.
uint64_t MetadataBlocks::allocate(uint64_t bytes, uint64_t alignment) {
  const uint64_t rounded = round_up(bytes, alignment);
  const uint32_t least = class_of(rounded + alignment - kQuantumBytes);
  AddressRange* best = nullptr;
  uint32_t best_class = kClasses;
  for (AddressRange& unused : unused_) {
    if (unused.bytes() == 0) continue;
    const uint32_t floor = class_of(unused.bytes() + 1) - 1;
    if (floor < least || floor >= best_class) continue;
    best = &unused;
    best_class = floor;
  }
  return bump(best != nullptr ? *best : new_block(rounded, alignment), rounded, alignment);
}

uint64_t MetadataBlocks::bump(AddressRange& unused, uint64_t bytes, uint64_t alignment) {
  const uint64_t address = round_up(unused.begin, alignment);
  unused.begin = address + bytes;
  return address;
}

// Blocks follow the series of page classes, in huge pages.
AddressRange& MetadataBlocks::new_block(uint64_t bytes, uint64_t alignment) {
  const uint64_t least = round_up(kBlockHeaderBytes, alignment) + bytes;
  const uint64_t wanted = round_up(page_class_bytes(page_class_of(least)), kHugePageBytes);
  const uint64_t next = round_up(page_class_bytes(last_page_class_ + 1), kHugePageBytes);
  const uint64_t block_bytes = std::max(wanted, next);
  const CommitRule rule = unused_.empty() ? CommitRule{kFirstBlock, {kHugePageBytes}}
                                          : CommitRule{kNextBlock, {bytes, kHugePageBytes}};
  const uint64_t block = system_.map_metadata(block_bytes, kHugePageBytes, rule);
  HEAPTAPE_CHECK(block != 0);
  bytes_ += block_bytes;
  last_page_class_ = page_class_of(block_bytes);
  unused_.push_back({block + kBlockHeaderBytes, block + block_bytes});
  return unused_.back();
}

void MetadataBlocks::append_absent(std::vector<AddressRange>& ranges) const {
  for (const AddressRange& unused : unused_) {
    const uint64_t begin = round_up(unused.begin, kPageBytes);
    if (begin < unused.end) ranges.push_back({begin, unused.end});
  }
}

}  // namespace heaptape::allocators::slabs
