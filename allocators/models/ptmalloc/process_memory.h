// State shared by all arenas of a process.
#pragma once

#include "allocators/models/model.h"
#include "allocators/models/ptmalloc/break_memory.h"
#include "allocators/models/ptmalloc/chunk_memory.h"
#include "allocators/models/ptmalloc/mapped_chunks.h"
#include "allocators/models/ptmalloc/sub_heaps.h"
#include "allocators/models/ptmalloc/tuning.h"
#include "base/address/region_set.h"

namespace heaptape::allocators::ptmalloc {

// Sizes of the structs at the beginning of the arenas' heaps.
struct HeapLayout {
  uint64_t heap_info_bytes;
  uint64_t arena_bytes;  // malloc_state, in the first heap of an arena only
};
inline constexpr HeapLayout kHeapLayout236 = {48, 2200};
inline constexpr HeapLayout kHeapLayout224 = {32, 2192};

struct ProcessMemory {
  ProcessMemory(AddressSpace& space, const Tuning& set, const HeapLayout& headers)
      : tuning(set),
        layout(headers),
        break_phase(space.break_phase()),
        brk(space, chunks, counts),
        heaps(space, chunks),
        mapped(space, tuning, counts) {}

  Tuning tuning;
  Counts counts;
  const HeapLayout layout;
  const uint64_t break_phase;  // of an address in the main heap, see AddressSpace
  ChunkMemory chunks;
  BreakMemory brk;
  SubHeaps heaps;
  MappedChunks mapped;
  // Pages without contents below the tops of the heaps: purged, or skipped to align a block and not
  // used since. Some may be unmapped by now.
  base::RegionSet unwritten;
};

}  // namespace heaptape::allocators::ptmalloc
