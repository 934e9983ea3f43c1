// Whether a tape is what its writer meant it to be: all that `heaptape verify` reads of its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "schema/tape/damage.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {

struct TapeCheck {
  uint64_t events = 0;                  // that can be read
  std::vector<schema::Damage> damages;  // in the order of the file, after those of its outline
  uint64_t calls_after_end = 0;         // of threads that had ended
  uint64_t first_after_end = 0;         // number of the first of these, from 1
  // After so many calls: the first keyframe that is not the heap which these left. Means nothing if
  // there is damage.
  std::optional<uint64_t> wrong_keyframe;
};

// Reads all calls of `tape`, opened with kSkip and kLeaveOut: `threads` parts side by side, each by
// a reader of its own. The result does not depend on `threads`. Where the tape has keyframes the
// parts begin at them. `progress` is told the share that was read, in the calling thread.
base::Result<TapeCheck> check_tape(schema::TapeReader& tape, size_t threads,
                                   const std::function<void(double)>& progress);

}  // namespace heaptape::cli
