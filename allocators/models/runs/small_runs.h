// Small blocks of model:runs: regions of equal size in runs, one bin for each size class, as in
// mozjemalloc (Firefox ESR 52).
#pragma once

#include <cstdint>
#include <set>

#include "allocators/models/runs/page_runs.h"
#include "allocators/models/runs/run_chunk.h"

namespace heaptape::allocators::runs {

class SmallRuns {
 public:
  SmallRuns(PageRuns& pages, ChunkMap& map) : pages_(pages), map_(map) {}

  // The lowest free region of the bin's current run; 0 if there is no room.
  uint64_t allocate(uint32_t bin_index);
  // `address` is that of a region of `run` in use.
  void release(SmallRun& run, uint64_t address);

  uint64_t runs_created() const { return runs_created_; }
  // How often a run that was set aside became current because the bin needed one.
  uint64_t runs_reused() const { return runs_reused_; }

 private:
  // Invariant: a run with both free and used regions is current or in `others`, as is one that is
  // briefly wholly free; a full run is in neither, unless it is current.
  struct Bin {
    SmallRun* current = nullptr;
    std::set<uint64_t> others;  // run addresses
  };

  SmallRun* next_run(uint32_t bin_index);
  SmallRun* new_run(uint32_t bin_index);
  void drop(SmallRun& run);
  void offer(SmallRun& run);

  PageRuns& pages_;
  ChunkMap& map_;
  Bin bins_[kBinCount];
  uint64_t runs_created_ = 0;
  uint64_t runs_reused_ = 0;
};

}  // namespace heaptape::allocators::runs
