// Where the memory of an allocator is at one moment, as a sum. docs/metrics.md, "The account".
//
//   committed = live + slack + metadata + cached + holes + top + returned + unexplained
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

// All in bytes.
struct Account {
  uint64_t committed_bytes = 0;
  uint64_t resident_bytes = 0;
  uint64_t live_bytes = 0;       // requested
  uint64_t slack_bytes = 0;      // usable, and not asked for
  uint64_t metadata_bytes = 0;   // headers, and what else is known to be the allocator's own
  uint64_t cached_bytes = 0;     // free blocks that are kept ready, as far as it is known
  uint64_t hole_bytes = 0;       // free, between blocks, resident
  uint64_t top_bytes = 0;        // free, at the end of a region, resident
  uint64_t returned_bytes = 0;   // free, committed, not resident
  uint64_t untouched_bytes = 0;  // not resident, in live blocks
  int64_t unexplained_bytes = 0;
  // Estimates of what would come back.
  uint64_t purgeable_bytes = 0;                  // resident pages without a byte in use
  std::optional<uint64_t> trimmable_bytes = {};  // by malloc_trim(0); nothing: it has none
  std::array<HoleClass, 64> holes{};             // [n]: of 1 << n bytes up to twice that

  bool operator==(const Account&) const = default;
};

// What is known of the blocks of the heap, summed up.
struct BlockSums {
  uint64_t live_bytes = 0;
  uint64_t usable_bytes = 0;
  uint64_t rounding_bytes = 0;  // between the ends of blocks and those of their granules
};

// What malloc_trim(0) gives back: of a free chunk the whole pages behind its links, and of the heap
// that grows by brk its end (mtrim and systrim of glibc 2.36's malloc.c).
struct TrimRule {
  uint64_t initial_break = 0;
};

// One pass over all gaps. `absent` as Residency has it: without it all is taken for resident.
Account take_account(const HeapMap& map, const BlockSums& blocks,
                     const std::optional<std::vector<AddressRange>>& absent,
                     const allocators::KeptMemory& kept, const std::optional<TrimRule>& trim);

// Takes what the allocator says of itself out of what is free: it does not say where it lies.
// Cached bytes come from holes, metadata from tops first.
void apply_own_statistics(const allocators::OwnStatistics& own, uint64_t usable_bytes,
                          Account& account);

}  // namespace heaptape::replayer
