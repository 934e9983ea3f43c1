// How long real allocators take for the calls of a tape, in a replay that does nothing else.
//
// A replay that follows the heap stops the allocator after some thousands of calls and looks at its
// answers. Meanwhile the allocator's memory leaves the processor's caches, and the next calls wait
// for it: docs/decisions/0038-time.md. So times are taken in a second replay, which reads a window
// of the tape, then lets one allocator after the other make all its calls.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allocators/backend.h"
#include "base/result.h"
#include "replayer/engine/replay.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

struct ReplayTime {
  uint64_t replay_ns = 0;  // in the allocator and the loop around it
  std::vector<allocators::LatencySummary> latencies = {};
  double stamp_ns = 0;
  std::optional<RunFailure> failure = {};  // of the allocator; then the figures mean nothing
  std::string output = {};                 // of an allocator that failed: see Backend::output
};

// One for each of `options.specs`, which must be timed ones. Actions are performed, but not timed.
// `tape` stands at its beginning; `progress`, which may be empty, and errors are as for replay().
base::Result<std::vector<ReplayTime>> time_replays(schema::TapeReader& tape,
                                                   const ReplayOptions& options,
                                                   const std::function<void(double)>& progress);

}  // namespace heaptape::replayer
