// What every pass over a tape learns of the program's blocks, because it costs little: lifetimes in
// calls, resizes and growth chains as they were recorded. docs/metrics.md, "Sizes and lifetimes".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replayer/metrics/growth_chains.h"
#include "replayer/metrics/lifetimes.h"

namespace heaptape::replayer {

// Calls are numbered from 1. Memory grows with slots, not with calls. One thread.
class ProgramProfile {
 public:
  // `run_calls`: how many calls will come.
  explicit ProgramProfile(uint64_t run_calls) : lifetimes_(run_calls) {}

  void on_allocate(uint64_t call, uint32_t slot) {
    if (slot >= births_.size()) [[unlikely]]
      births_.resize(slot + size_t{1});
    births_[slot] = call;
    lifetimes_.on_birth();
  }
  // `owner`: the thread that asked for the block, or resized it last.
  void on_resize(uint32_t slot, uint32_t owner, const Resize& resize) {
    growth_chains_.on_resize(slot, births_[slot], owner, resize);
  }
  void on_release(uint64_t call, uint32_t slot) {
    lifetimes_.on_death(call - births_[slot] - 1);
    growth_chains_.on_release(slot);
  }
  // No more come. Once: gives back what grows with slots.
  void finish() {
    growth_chains_.finish();
    births_ = {};
  }

  const Lifetimes& lifetimes() const { return lifetimes_; }
  const GrowthChains& growth_chains() const { return growth_chains_; }

 private:
  std::vector<uint64_t> births_;  // by slot
  Lifetimes lifetimes_;
  GrowthChains growth_chains_;
};

}  // namespace heaptape::replayer
