// Facts about the program's blocks that every pass over a tape collects, because they cost little:
// lifetimes in calls, sizes by powers of two, recorded resizes and growth chains. docs/metrics.md,
// "Sizes and lifetimes".
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "replayer/metrics/cohorts.h"
#include "replayer/metrics/growth_chains.h"
#include "replayer/metrics/log_histogram.h"

namespace heaptape::replayer {

// The sizes that a program requests, and those alive at one moment, by powers of two: cheap enough
// for a replay to keep.
struct SizeBand {
  uint64_t calls = 0;  // that requested such a size and got it, resizes included
  uint64_t asked_bytes = 0;
  uint64_t live_count = 0;  // now
  uint64_t live_bytes = 0;
  uint64_t kept_count = 0;  // live when keep() was called
  uint64_t kept_bytes = 0;
};

// Band i has the sizes from 2^i bytes up to the next power; 0 counts as 1.
class SizeBands {
 public:
  static constexpr size_t kBands = 64;

  // A block got this size: it was allocated, or resized to it.
  void add(uint64_t size) {
    SizeBand& band = band_of(size);
    ++band.calls;
    band.asked_bytes += size;
    hold(size);
  }
  // A block has had this size for longer.
  void hold(uint64_t size) {
    SizeBand& band = band_of(size);
    ++band.live_count;
    band.live_bytes += size;
  }
  // A block lost this size: it was freed, or resized.
  void remove(uint64_t size) {
    SizeBand& band = band_of(size);
    --band.live_count;
    band.live_bytes -= size;
  }
  void keep() {
    for (SizeBand& band : bands_) {
      band.kept_count = band.live_count;
      band.kept_bytes = band.live_bytes;
    }
  }

  const std::array<SizeBand, kBands>& bands() const { return bands_; }

 private:
  SizeBand& band_of(uint64_t size) {
    return bands_[static_cast<size_t>(std::bit_width(std::max<uint64_t>(size, 1)) - 1)];
  }

  std::array<SizeBand, kBands> bands_{};
};

// How long blocks live. The lifetime of a block is the number of calls between its allocation and
// its free; resizes do not end it. A block that is never freed lives longer than every other.
class Lifetimes {
 public:
  // `run_calls`: the number in the whole run (of a range, in that), for shares of it.
  explicit Lifetimes(uint64_t run_calls)
      : ten_thousandth_((run_calls + 9999) / 10000), tenth_((run_calls + 9) / 10) {}

  void on_birth() { ++blocks_; }
  void on_death(uint64_t calls) {
    in_calls_.add(calls);
    under_ten_thousandth_ += calls < ten_thousandth_;
    under_tenth_ += calls < tenth_;
  }

  uint64_t blocks() const { return blocks_; }
  // Blocks that lived for less than 0.01 %, and less than 10 %, of the run's calls: exact.
  uint64_t under_ten_thousandth() const { return under_ten_thousandth_; }
  uint64_t under_tenth() const { return under_tenth_; }
  const LogHistogram& in_calls() const { return in_calls_; }

  // The lifetime that `percent` of all blocks do not exceed, in calls or by another histogram of
  // the same blocks; within a 64th. Nothing if too few were freed.
  std::optional<uint64_t> quantile(const LogHistogram& lifetimes, unsigned percent) const {
    return lifetimes.value_at(blocks_ / 100 * percent + (blocks_ % 100 * percent + 99) / 100);
  }

 private:
  uint64_t ten_thousandth_;
  uint64_t tenth_;
  uint64_t blocks_ = 0;
  uint64_t under_ten_thousandth_ = 0;
  uint64_t under_tenth_ = 0;
  LogHistogram in_calls_;
};

// Calls are numbered from 1. The caller keeps the facts about live blocks. Memory grows with the
// blocks that are alive and were resized. One thread.
class ProgramProfile {
 public:
  // `run_calls`: the number of calls to come, `before`: of those that came. Blocks of these have no
  // lifetimes.
  explicit ProgramProfile(uint64_t run_calls, uint64_t before = 0)
      : before_(before), lifetimes_(run_calls) {}

  // A block from before is alive.
  void hold(uint64_t size) { sizes_.hold(size); }

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
    if (birth > before_) lifetimes_.on_death(call - birth - 1);
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
  uint64_t before_;
  Lifetimes lifetimes_;
  SizeBands sizes_;
  Cohorts peak_cohorts_{0};
  Cohorts end_cohorts_{0};
  GrowthChains growth_chains_;
};

}  // namespace heaptape::replayer
