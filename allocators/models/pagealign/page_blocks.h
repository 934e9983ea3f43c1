// Data of each page-aligned block, found from its address by arithmetic. It holds the contents of
// the real list or hash-map nodes, which therefore need no memory here.
#pragma once

#include <cstdint>

#include "allocators/models/address_table.h"
#include "allocators/models/model.h"

namespace heaptape::allocators::pagealign {

// Zeroed memory is not a block.
struct PageBlock {
  uint64_t origin;  // the address that the back end got from the system or malloc; not 0
  uint64_t bytes;   // as requested
  uint64_t node;    // address of the registry's node
  uint64_t link;    // of the registry; see there
};

// The live page blocks of a model.
class PageBlocks {
 public:
  // Null if no page block begins at `address`.
  PageBlock* find(uint64_t address) {
    if (address % kPageBytes != 0) return nullptr;
    PageBlock& block = blocks_[address];
    return block.origin == 0 ? nullptr : &block;
  }
  // `address` must be a multiple of the page size.
  PageBlock& at(uint64_t address) { return blocks_[address]; }

 private:
  AddressTable<PageBlock, kPageLog2> blocks_;
};

}  // namespace heaptape::allocators::pagealign
