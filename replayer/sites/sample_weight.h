// How many calls one stands for if the recorder sampled calls for their stacks
// (recorder/interposer/stack_sampling.h): the inverse of the chance that a call of its size had,
// which makes sums over sampled calls unbiased estimates of sums over all (D. G. Horvitz and D. J.
// Thompson, 1952).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "schema/tape/stack_recording.h"

namespace heaptape::replayer {

class SampleWeight {
 public:
  SampleWeight() = default;
  explicit SampleWeight(schema::StackRecording recording) : recording_(std::move(recording)) {}
  // For a tape without complete sizes; 0: all calls were recorded.
  explicit SampleWeight(uint64_t every_bytes) { recording_.every_bytes = every_bytes; }

  const schema::StackRecording& recording() const { return recording_; }
  // Some calls have no stack because they were not chosen.
  bool is_sampled() const { return recording_.is_partial(); }
  // The weight of a call for `bytes` whose stack is on the tape, at least 1.
  double of(uint64_t bytes) const {
    if (recording_.every_bytes == 0 || recording_.is_complete(bytes)) return 1;
    const auto asked = static_cast<double>(std::max<uint64_t>(bytes, 1));
    return -1 / std::expm1(-asked / every_bytes());
  }

  // The most that one call adds to the variance of a sum of bytes: its size squared times
  // variance_of() its size.
  double most_variance() const { return every_bytes() * every_bytes(); }
  // The square of the standard error of an estimate that rests on one call for `bytes`, which adds
  // 1: the sum of these over sampled calls, each times the square of what it adds, is an unbiased
  // estimate of the variance of their weighted sum (Horvitz and Thompson, for calls sampled
  // independently of one another, as the bytes of a Poisson process are).
  double variance_of(uint64_t bytes) const {
    const double weight = of(bytes);
    return weight * (weight - 1);
  }

 private:
  double every_bytes() const {
    // No recorder samples more rarely than that (kMostStackBytes).
    constexpr double kMostEveryBytes = uint64_t{1} << 40;
    return std::min(static_cast<double>(recording_.every_bytes), kMostEveryBytes);
  }

  schema::StackRecording recording_;
};

}  // namespace heaptape::replayer
