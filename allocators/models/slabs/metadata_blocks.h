// Memory for an arena's own records: blocks of 2 MiB or more, handed out from the front and never
// taken back. Follows base.c of jemalloc 5.3.0. The records themselves live in the model; these are
// the addresses they would have.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/slabs/system_memory.h"

namespace heaptape::allocators::slabs {

class MetadataBlocks {
 public:
  explicit MetadataBlocks(SystemMemory& system);

  // The address of `bytes`, a multiple of `alignment`; zeroed. The address space is large enough
  // that there is always room.
  uint64_t allocate(uint64_t bytes, uint64_t alignment);

  uint64_t bytes() const { return bytes_; }
  // Pages that no allocation has reached.
  void append_absent(std::vector<AddressRange>& ranges) const;

 private:
  uint64_t bump(AddressRange& unused, uint64_t bytes, uint64_t alignment);
  AddressRange& new_block(uint64_t bytes, uint64_t alignment);

  SystemMemory& system_;
  std::vector<AddressRange> unused_;  // the end of each block, oldest first
  uint32_t last_page_class_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace heaptape::allocators::slabs
