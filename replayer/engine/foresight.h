// Tells allocators with foresight what will come: reads the tape twice before the replay, once to
// learn when each block dies, once for rehearsals. docs/decisions/0019-foresight.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mapping.h"
#include "base/result.h"
#include "replayer/engine/replay_run.h"
#include "replayer/engine/slot_resolver.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// When the blocks of a tape die, by the call that placed them. Kept in a file without a name, in
// the folder for temporary files (TMPDIR, or /var/tmp): 4 bytes a call; memory is that of the
// slots.
class DeathTimes {
 public:
  // Nothing is known.
  DeathTimes() = default;
  // Of `events` calls. kNoSpace: the disk has no room for the file.
  static base::Result<DeathTimes> create(uint64_t events);

  // Batches one after the other, all of them, before any for_batch().
  void note(const ResolvedBatch& batch);
  allocators::Deaths for_batch(const ResolvedBatch& batch) const;

 private:
  base::Mapping file_;  // a tick for each call
  int tick_log2_ = 0;
  std::vector<uint64_t> births_;  // by slot: the call that placed its block, from 0
};

// Rehearses those of `runs` that have foresight with the first `events` calls; without any, does
// nothing. The tape stands at its beginning, before and after.
base::Result<DeathTimes> rehearse(schema::TapeReader& tape, uint64_t events,
                                  std::span<const std::unique_ptr<ReplayRun>> runs);

}  // namespace heaptape::replayer
