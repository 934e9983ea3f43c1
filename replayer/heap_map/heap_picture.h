// A heap at one moment, block by block: the input for the account, the holes and their pins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/address/address_range.h"
#include "replayer/heap_map/last_frees.h"

namespace heaptape::replayer {

struct LiveBlock {
  uint64_t address = 0;
  uint64_t usable_bytes = 0;
  uint64_t requested_bytes = 0;
  uint64_t birth = 0;   // number of the call that made it, from 1; a resize does not change it
  uint32_t thread = 0;  // of the tape, modulo 65,536, that made it

  uint64_t end() const { return address + usable_bytes; }
};

struct HeapPicture {
  uint64_t at = 0;  // calls made
  int granule_log2 = 4;
  uint64_t min_hole_bytes = 32;
  std::vector<LiveBlock> blocks;            // by address
  std::vector<base::AddressRange> regions;  // committed memory, ascending; no two touch
  // Parts of it that no recorded call has handed out or given back, ascending; nothing if the
  // recording began with the program. See UnseenMemory.
  std::optional<std::vector<base::AddressRange>> unseen = {};
  // Its non-resident part, ascending; nothing if unknown.
  std::optional<std::vector<base::AddressRange>> absent;
  uint64_t resident_bytes = 0;
  std::shared_ptr<const LastFrees> frees;  // null if they were not kept
};

}  // namespace heaptape::replayer
