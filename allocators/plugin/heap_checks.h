// The rules for a model's use of memory, checked call by call. The model is foreign code: see
// docs/howto-plugin.md, "What is checked".
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "allocators/replay_op.h"
#include "base/address/address_range.h"
#include "base/address/edge_bitmap.h"
#include "base/address/region_set.h"

namespace heaptape::allocators {

using base::AddressRange;

// Knows the live blocks and the committed memory. Each check returns whether all is well; if not,
// the first fault is kept, and all later results are meaningless. Faults complete the sentence "at
// event 12 it ...". One thread.
//
// While there is no fault:
// - committed memory is whole pages inside the window; no page was committed twice, nor given back
//   while it was not committed or a live block was on it;
// - live blocks lie in committed memory and have no granule in common (one of 0 bytes has one);
// - each has at least the bytes and the alignment that were requested.
// With kBelieved, blocks are only counted: the last two rules, and the part of the first about live
// blocks, are then not checked.
class HeapChecks {
 public:
  enum class Blocks : uint8_t { kBelieved, kChecked };

  // kBelieved: blocks are only counted. Checks that depend on their places pass.
  HeapChecks(int granule_log2, AddressRange window, Blocks blocks);

  // Memory is taken and given back.
  bool commit(AddressRange range);
  bool decommit(AddressRange range);

  // A block for a request of `size` bytes; alignment 0: the granule.
  bool place(const Placement& block, uint64_t size, uint64_t alignment);
  // Gives back the block at `address`, which must be live. Returns its range, so that it can be put
  // back if the model refuses to resize it.
  AddressRange take(uint64_t address);
  bool put_back(AddressRange block);

  // The stretches without contents, as the model lists them.
  bool absent(std::span<const AddressRange> ranges);

  bool fail(std::string fault);
  bool has_fault() const { return !fault_.empty(); }
  const std::string& fault() const { return fault_; }

  uint64_t live_blocks() const { return live_blocks_; }

 private:
  // The flaw of a range of pages, or null.
  const char* flaw_of(AddressRange pages) const;
  // The first live block that shares a byte with `range`, in granules; empty if there is none.
  AddressRange block_in(AddressRange range) const;

  bool misplaced(const Placement& block, uint64_t size, uint64_t alignment);
  bool fits_in_gap(AddressRange block);

  uint64_t granule_bytes_;
  AddressRange window_;
  bool checks_blocks_;
  base::RegionSet committed_;
  base::EdgeBitmap blocks_;
  uint64_t live_blocks_ = 0;
  std::string fault_;
};

// "0x1000 to 0x2000".
std::string range_text(AddressRange range);

}  // namespace heaptape::allocators
