// Maps an address to its extent. Stands for the radix tree of jemalloc 5.3.0 (emap.c, rtree.h),
// which knows the first and last page of every extent, and all pages of a slab. Its tables are
// memory of the first arena: 2 MiB for each GiB of addresses in use.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "allocators/models/address_table.h"
#include "allocators/models/slabs/extent.h"
#include "allocators/models/slabs/metadata_blocks.h"

namespace heaptape::allocators::slabs {

class ExtentIndex {
 public:
  explicit ExtentIndex(MetadataBlocks& metadata) : metadata_(metadata) {}

  // Valid for the pages under which nearby extents were entered.
  Extent* at(uint64_t address) { return extents_[address]; }

  void enter_ends(Extent& extent) {
    enter(extent.base, extent);
    if (extent.bytes > kPageBytes) enter(extent.end() - kPageBytes, extent);
  }
  void enter_all(Extent& extent) {
    for (uint64_t at = extent.base; at < extent.end(); at += kPageBytes) enter(at, extent);
  }

  // Pages of the tables that were never written to; not in order.
  void append_absent(std::vector<AddressRange>& ranges) const;

 private:
  static constexpr int kTableSpanLog2 = 30;
  static constexpr uint64_t kTableBytes = uint64_t{2} << 20;  // 8 bytes per page
  static constexpr uint64_t kTablePages = kTableBytes / kPageBytes;

  struct Table {
    uint64_t key;
    uint64_t address;
    std::bitset<kTablePages + 1> written;  // it may start anywhere in a page
  };

  void enter(uint64_t address, Extent& extent) {
    extents_[address] = &extent;
    if (address >> kTableSpanLog2 != last_key_) [[unlikely]]
      find_table(address);
    write_table(address);
  }
  void write_table(uint64_t address);
  void find_table(uint64_t address);

  MetadataBlocks& metadata_;
  AddressTable<Extent*, kPageLog2> extents_;  // by page
  std::vector<Table> tables_;
  uint64_t last_key_ = UINT64_MAX;
  size_t last_table_ = 0;
};

}  // namespace heaptape::allocators::slabs
