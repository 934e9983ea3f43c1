// The stacks of some of the calls of a tape. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Whether a tape has any, as its calls say up to the first for a block. The reader then stands at
// the beginning.
base::Result<bool> has_stacks(schema::TapeReader& tape);

class CallStacks {
 public:
  // Of a call.
  struct Found {
    schema::FrameNumber stack = 0;
    double weight =
        0;  // how many calls it stands for; 0: none, its stack was left out of the sample
  };

  // Reads the tape where the calls are, and no further; `calls` are their numbers, from 1, in any
  // order, and may have some twice.
  static base::Result<CallStacks> read(schema::TapeReader& tape, std::vector<uint64_t> calls);

  bool is_sampled() const { return is_sampled_; }
  // Null of a call that the tape does not have, or that was not asked for.
  const Found* find(uint64_t call) const;

 private:
  explicit CallStacks(bool is_sampled) : is_sampled_(is_sampled) {}

  bool is_sampled_;
  std::vector<uint64_t> calls_;  // ascending
  std::vector<Found> found_;     // of each
};

}  // namespace heaptape::replayer
