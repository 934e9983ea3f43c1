// The memory that model:slabs maps, and which of its pages have contents. It never unmaps: jemalloc
// 5.3.0 keeps its memory on Linux (opt.retain).
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/model.h"
#include "allocators/models/slabs/slab_classes.h"
#include "allocators/models/slabs/written_pages.h"

namespace heaptape::allocators::slabs {

class SystemMemory {
 public:
  explicit SystemMemory(AddressSpace& space) : space_(space) {}

  // For blocks. From the top down, as Linux places mappings. Zeroed. 0 if there is no room.
  uint64_t map(uint64_t bytes, const CommitRule& rule);
  // For metadata, which has room left when blocks have none. An aligned mapping leaves a gap above.
  uint64_t map_metadata(uint64_t bytes, uint64_t alignment, const CommitRule& rule) {
    const uint64_t address = map_down_to(kModelBase, bytes, alignment, rule);
    if (address != 0) metadata_.push_back({address, address + bytes});
    return address;
  }
  const std::vector<AddressRange>& metadata() const { return metadata_; }

  uint64_t mapped_bytes() const { return mapped_bytes_; }

  // The program writes the first `bytes` of a block: their pages have contents from now on.
  void write(uint64_t address, uint64_t bytes) {
    if (bytes != 0) written_.write(page_at(address + bytes - 1), page_at(address));
  }
  // The kernel discards the contents of whole pages.
  void purge(uint64_t address, uint64_t bytes) {
    written_.purge(page_at(address + bytes - 1), page_at(address));
  }

  // Pages for blocks that have no contents; not in order.
  void append_absent(std::vector<AddressRange>& ranges) const;

 private:
  // The place within 1 GiB is that of the first mapping of a preloaded libjemalloc.so.2 without
  // address randomization: it decides when the index needs a second table.
  static constexpr uint64_t kTop = 0x2ffff7600000;
  static constexpr uint64_t kBlocksEnd = kModelBase + (uint64_t{1} << 41);

  // Pages are numbered from the top.
  static uint64_t page_at(uint64_t address) { return (kTop - 1 - address) >> kPageLog2; }
  static uint64_t end_of(uint64_t page) { return kTop - (page << kPageLog2); }

  uint64_t map_down_to(uint64_t limit, uint64_t bytes, uint64_t alignment, const CommitRule& rule);

  AddressSpace& space_;
  uint64_t lowest_ = kTop;
  uint64_t mapped_bytes_ = 0;
  std::vector<AddressRange> for_blocks_;
  std::vector<AddressRange> metadata_;
  WrittenPages written_;
};

}  // namespace heaptape::allocators::slabs
