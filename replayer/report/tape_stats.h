// What `heaptape stats` counts of a tape, without any allocator.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "replayer/engine/slot_resolver.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

struct TapeCounts {
  std::array<uint64_t, schema::kOpLimit> calls{};  // by stored value of the op
  uint64_t null_frees = 0;
  SlotResolver resolver;
};

// Counts every event from the reader's position on; `progress` gets the share that is done, 0 to 1.
base::Status count_tape(schema::TapeReader& tape, TapeCounts& counts,
                        const std::function<void(double)>& progress);

// TapeStats of report.capnp as JSON.
base::Result<std::string> stats_json(const schema::TapeReader& tape, const TapeCounts& counts);

}  // namespace heaptape::replayer
