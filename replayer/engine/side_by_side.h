// Several allocators at the same time, where no time is measured.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "replayer/engine/planned_batch.h"
#include "replayer/engine/replay_run.h"

namespace heaptape::replayer {

// Calls work(i) for each i below `count`, each once, in at most `threads` threads, the caller's
// among them, which does work(0); fewer where there is no room for more. Returns when all are done.
// What one throws comes out here; some are then not called.
void for_each_in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work);

// Takes all `runs` through the same batches, each of them through all in turn, `jobs` at the same
// time; plug-ins all in the caller's thread, as they are promised. The batches stay as they are
// meanwhile. An allocator that fails ends its own run alone; the error is that of the first run
// that has one.
base::Status replay_side_by_side(const std::vector<std::unique_ptr<ReplayRun>>& runs,
                                 const std::vector<const PlannedBatch*>& batches, size_t jobs);

}  // namespace heaptape::replayer
