// model:runs, the classic jemalloc design: small blocks as regions of page runs, large blocks as
// runs, huge blocks as chunks. It follows mozjemalloc as shipped with Firefox ESR 52 (64-bit Linux,
// one arena, no decommit), address for address from its first chunk. docs/models/runs.md has the
// rules and the counters.
//
//   RunsModel --+-- SmallRuns --.
//               +---------------+-- PageRuns --.
//               +-- HugeBlocks ----------------+-- ChunkSpace -- AddressSpace
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/model.h"
#include "allocators/models/runs/chunk_space.h"
#include "allocators/models/runs/huge_blocks.h"
#include "allocators/models/runs/page_runs.h"
#include "allocators/models/runs/run_chunk.h"
#include "allocators/models/runs/small_runs.h"

namespace heaptape::allocators {

class RunsModel {
 public:
  RunsModel(AddressSpace& space, const base::Values&)
      : chunks_(space), pages_(chunks_, map_), small_(pages_, map_), huge_(chunks_) {}
  RunsModel(const RunsModel&) = delete;
  RunsModel& operator=(const RunsModel&) = delete;

  // As AllocatorModel says. 0 bytes count as 1.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  Placement allocate_zeroed(uint64_t bytes) { return allocate(bytes, 0); }
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address);

  // Purged pages not used since, and pages never used: the end of a chunk that no run has reached,
  // and of a huge block. The original treats both as one state.
  std::vector<AddressRange> absent() const;
  std::vector<Counter> counters() const;
  uint64_t work() const { return pages_.purges().pages; }
  static const char* work_unit() { return "pages purged"; }
  static BackendTraits traits() { return {.granule_log2 = 3, .min_hole_bytes = runs::kTinyBytes}; }
  static std::vector<base::Parameter> parameters() { return {}; }

 private:
  Placement allocate_aligned(uint64_t bytes, uint64_t alignment);
  Placement allocate_plain(uint64_t bytes);
  uint64_t usable_bytes(uint64_t address);
  bool try_resize_in_place(uint64_t address, uint64_t old_usable, uint64_t bytes);
  bool try_resize_huge(uint64_t address, uint64_t old_usable, uint64_t bytes);
  bool try_resize_large(uint64_t address, uint64_t old_usable, uint64_t bytes);

  runs::ChunkSpace chunks_;
  runs::ChunkMap map_;
  runs::PageRuns pages_;
  runs::SmallRuns small_;
  runs::HugeBlocks huge_;
  uint64_t huge_in_place_ = 0;
  uint64_t bytes_copied_ = 0;
};

static_assert(AllocatorModel<RunsModel>);

}  // namespace heaptape::allocators
