// Where an allocator's memory is at one moment, as a sum. docs/metrics.md, "The account".
//
//   committed = live + slack + metadata + cached + holes + top + returned + unseen + unexplained
//   resident  = committed - returned - untouched
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "allocators/backend.h"
#include "replayer/heap_map/heap_map.h"

namespace heaptape::replayer {

struct HoleClass {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t resident_bytes = 0;

  bool operator==(const HoleClass&) const = default;
};

// The heap of a recording that began later than its program.
struct LateStart {
  uint64_t unseen_bytes = 0;  // no recorded call has handed them out or given them back
  // Holes that border on such memory: on that side, their extent and their pin are not known.
  uint64_t open_holes = 0;
  uint64_t open_hole_bytes = 0;  // part of the holes' bytes

  bool operator==(const LateStart&) const = default;
};

// All in bytes.
struct Account {
  uint64_t committed_bytes = 0;
  uint64_t resident_bytes = 0;
  uint64_t live_bytes = 0;       // requested
  uint64_t slack_bytes = 0;      // usable, beyond the request
  uint64_t metadata_bytes = 0;   // headers, and other memory known to be the allocator's own
  uint64_t cached_bytes = 0;     // free blocks kept ready, as far as known
  uint64_t hole_bytes = 0;       // free, between blocks, resident
  uint64_t top_bytes = 0;        // free, at the end of a region, resident
  uint64_t returned_bytes = 0;   // free, committed, not resident
  uint64_t untouched_bytes = 0;  // not resident, in live blocks
  int64_t unexplained_bytes = 0;
  // Estimated bytes that would come back.
  uint64_t purgeable_bytes = 0;  // resident pages without a byte in use
  // By malloc_trim(0); nothing if the allocator has no malloc_trim.
  std::optional<uint64_t> trimmable_bytes = {};
  std::optional<LateStart> late = {};
  std::array<HoleClass, 64> holes{};  // [n]: from 1 << n bytes up to twice that

  bool operator==(const Account&) const = default;
};

// Totals over the blocks of the heap.
struct BlockSums {
  uint64_t live_bytes = 0;
  uint64_t usable_bytes = 0;
  uint64_t rounding_bytes = 0;  // between the ends of blocks and those of their granules
};

// malloc_trim(0) gives back the whole pages of a free chunk after its links, and the end of the
// heap that grows by brk (mtrim and systrim of glibc 2.36's malloc.c).
struct TrimRule {
  uint64_t initial_break = 0;
};

// One pass over all gaps. `absent` is as in Residency: without it all counts as resident. `unseen`
// is as in HeapPicture, and in `map` like blocks.
Account take_account(const HeapMap& map, const BlockSums& blocks,
                     const std::optional<std::vector<AddressRange>>& absent,
                     const allocators::KeptMemory& kept, const std::optional<TrimRule>& trim,
                     const std::optional<std::vector<AddressRange>>& unseen = {});

// Subtracts the allocator's own figures from what is free, because they do not say where that
// memory lies. Cached bytes come from holes, metadata from tops first.
void apply_own_statistics(const allocators::OwnStatistics& own, uint64_t usable_bytes,
                          Account& account);

}  // namespace heaptape::replayer
