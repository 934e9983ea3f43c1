// What the allocators of a replay do before the first call of a forked process: the calls of the
// processes from which it descends. Its heap is then as the forks left it, with holes and caches.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "replayer/engine/replay.h"
#include "replayer/engine/replay_run.h"
#include "replayer/engine/slot_resolver.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Takes those of the runs that can through the calls of the tape's ancestors up to each fork, where
// their other threads end. Returns the slots of the blocks that the tape's first calls hand out;
// none if no run took part. Needs another pass over the ancestors' tapes.
base::Result<SlotResolver::Slots> replay_history(const schema::TapeReader& tape,
                                                 std::span<const std::unique_ptr<ReplayRun>> runs,
                                                 allocators::Steer steer);

}  // namespace heaptape::replayer
