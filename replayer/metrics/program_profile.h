// Facts about the program's blocks that every pass over a tape collects, because they cost little:
// lifetimes in calls, sizes by powers of two, recorded resizes and growth chains. docs/metrics.md,
// "Sizes and lifetimes".
#pragma once

#include <cstdint>
#include <utility>

#include "replayer/metrics/cohorts.h"
#include "replayer/metrics/growth_chains.h"
#include "replayer/metrics/lifetimes.h"
#include "replayer/metrics/size_bands.h"

namespace heaptape::replayer {

// Calls are numbered from 1. The caller keeps the facts about live blocks. Memory grows with the
// blocks that are alive and were resized. One thread.
class ProgramProfile {
 public:
  // `run_calls`: the number of calls to come.
  explicit ProgramProfile(uint64_t run_calls) : lifetimes_(run_calls) {}

  void on_allocate(uint64_t size) {
    lifetimes_.on_birth();
    sizes_.add(size);
  }
  // `birth`: the call that requested the block. `owner`, `chain` and the result: see GrowthChains.
  uint32_t on_resize(uint64_t birth, uint32_t owner, uint32_t chain, const Resize& resize) {
    sizes_.remove(resize.old_bytes);
    sizes_.add(resize.new_bytes);
    return growth_chains_.on_resize(chain, birth, owner, resize);
  }
  void on_release(uint64_t call, uint64_t birth, uint32_t chain, uint64_t size) {
    sizes_.remove(size);
    lifetimes_.on_death(call - birth - 1);
    if (chain != GrowthChains::kNone) growth_chains_.on_release(chain);
  }
  // Makes sizes() keep which sizes are alive now.
  void keep_sizes() { sizes_.keep(); }
  // The blocks alive at the peak, and at the end.
  void keep_peak(Cohorts cohorts) { peak_cohorts_ = std::move(cohorts); }
  void keep_end(Cohorts cohorts) { end_cohorts_ = std::move(cohorts); }
  // After the last call. Once.
  void finish() { growth_chains_.finish(); }

  const Lifetimes& lifetimes() const { return lifetimes_; }
  const SizeBands& sizes() const { return sizes_; }
  // Empty if they were not kept.
  const Cohorts& peak_cohorts() const { return peak_cohorts_; }
  const Cohorts& end_cohorts() const { return end_cohorts_; }
  const GrowthChains& growth_chains() const { return growth_chains_; }

 private:
  Lifetimes lifetimes_;
  SizeBands sizes_;
  Cohorts peak_cohorts_{0};
  Cohorts end_cohorts_{0};
  GrowthChains growth_chains_;
};

}  // namespace heaptape::replayer
