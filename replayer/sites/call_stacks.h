// The stacks of selected calls of a tape. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Whether a tape has any, judging by its calls up to the first for a block. The reader is at the
// beginning afterwards.
base::Result<bool> has_stacks(schema::TapeReader& tape);

class CallStacks {
 public:
  // The result for a call.
  struct Found {
    schema::FrameNumber stack = 0;
    double weight = 0;   // calls that it stands for; 0 if its stack was not sampled
    uint64_t asked = 0;  // the size that the call requested; only where stacks were sampled
  };

  // Reads only the parts of the tape that hold the calls; `calls` are numbers from 1, in any order,
  // perhaps repeated. The stacks of blocks of `keyframe`, which may be null, come from there,
  // unless they were sampled: then the sizes that were asked for are needed.
  static base::Result<CallStacks> read(schema::TapeReader& tape, std::vector<uint64_t> calls,
                                       const schema::Keyframe* keyframe = nullptr);

  const schema::StackRecording& recording() const { return recording_; }
  bool is_sampled() const { return recording_.is_partial(); }
  // Null for a call that the tape lacks or that was not asked for.
  const Found* find(uint64_t call) const;

 private:
  explicit CallStacks(schema::StackRecording recording) : recording_(std::move(recording)) {}

  schema::StackRecording recording_;
  std::vector<uint64_t> calls_;  // ascending
  std::vector<Found> found_;     // for each of them
};

}  // namespace heaptape::replayer
