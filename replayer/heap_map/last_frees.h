// The latest free around each place of a heap: the one that gave a hole its shape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/address/address_range.h"
#include "base/address/address_tree.h"

namespace heaptape::replayer {

// Remembers the block freed last among those that began in the same 1,024 bytes. Memory: 24 bytes
// for each 1,024 of the pages in which a freed block ever began: it grows with the addresses that
// an allocator uses, not with live blocks. One thread. Addresses are below base::kAddressLimit.
class LastFrees {
 public:
  struct Free {
    base::AddressRange block;
    uint64_t event = 0;  // number of the call, from 1
  };

  void note(base::AddressRange block, uint64_t event) {
    tree_.leaf(block.begin).cells[index(block.begin)] = {block, event};
  }

  // The latest remembered free of a block in `range`, within its first TiB. The time grows with its
  // bytes where blocks were freed.
  std::optional<Free> latest_in(base::AddressRange range) const {
    constexpr uint64_t kMostBytes = uint64_t{1} << 40;
    const uint64_t end = range.begin + std::min(range.bytes(), kMostBytes);
    std::optional<Free> latest;
    for (uint64_t at = range.begin; at < end;) {
      const Leaf* const leaf = tree_.find(at);
      if (leaf == nullptr) {
        at = (at / base::kLeafSpan + 1) * base::kLeafSpan;
        continue;
      }
      const Free& free = leaf->cells[index(at)];
      const bool is_inside = free.block.begin >= range.begin && free.block.end <= range.end;
      if (free.event != 0 && is_inside && (!latest || free.event > latest->event)) latest = free;
      at = (at / kCellBytes + 1) * kCellBytes;
    }
    return latest;
  }

 private:
  static constexpr uint64_t kCellBytes = 1024;
  struct Leaf {
    Free cells[base::kLeafSpan / kCellBytes];
  };
  static size_t index(uint64_t address) { return address % base::kLeafSpan / kCellBytes; }

  base::AddressTree<Leaf> tree_;
};

}  // namespace heaptape::replayer
