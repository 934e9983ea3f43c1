// The latest free around each place of a heap: by which a hole came to be as it is.
#pragma once

#include <cstdint>
#include <optional>

#include "base/address/address_range.h"
#include "base/address/address_tree.h"

namespace heaptape::replayer {

// Remembers, of the blocks that began in the same 1,024 bytes, the one that was freed last. Memory:
// 24 bytes for each 1,024 in which a freed block ever began. One thread. Addresses are below
// base::kAddressLimit.
class LastFrees {
 public:
  struct Free {
    base::AddressRange block;
    uint64_t event = 0;  // number of the call, from 1
  };

  void note(base::AddressRange block, uint64_t event) {
    tree_.leaf(block.begin).cells[index(block.begin)] = {block, event};
  }

  // The latest one that is remembered of a block in `range`. The time grows with its bytes.
  std::optional<Free> latest_in(base::AddressRange range) const {
    std::optional<Free> latest;
    for (uint64_t at = range.begin; at < range.end; at = (at / kCellBytes + 1) * kCellBytes) {
      const Leaf* const leaf = tree_.find(at);
      if (leaf == nullptr) continue;
      const Free& free = leaf->cells[index(at)];
      const bool is_inside = free.block.begin >= range.begin && free.block.end <= range.end;
      if (free.event != 0 && is_inside && (!latest || free.event > latest->event)) latest = free;
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
