// How long blocks live. docs/metrics.md, "Sizes and lifetimes".
#pragma once

#include <cstdint>
#include <optional>

#include "replayer/metrics/log_histogram.h"

namespace heaptape::replayer {

// The lifetime of a block is the number of calls between its allocation and its free; resizes do
// not end it. A block that is never freed lives longer than every other.
class Lifetimes {
 public:
  // `run_calls`: the number in the whole run, for shares of it.
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

}  // namespace heaptape::replayer
