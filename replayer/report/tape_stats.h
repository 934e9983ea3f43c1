// What `heaptape stats` counts of a tape, without any allocator.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/engine/slot_resolver.h"
#include "replayer/engine/tape_profile.h"
#include "replayer/sites/call_sites.h"
#include "replayer/sites/site_table.h"
#include "replayer/sites/stack_profile.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

struct TapeCounts {
  // `run_calls`: how many calls will be counted.
  explicit TapeCounts(uint64_t run_calls) : resolver(run_calls) {}

  std::array<uint64_t, schema::kOpLimit> calls{};  // by stored value of the op
  uint64_t null_frees = 0;
  SlotResolver resolver;
  TapeProfile profile;
};

// Counts every event of a reader that stands at the beginning of its tape. `progress`, which must
// not be empty, gets the share that is done, 0 to 1. `stacks` counts them, too, unless it is null.
// Fails where the tape is damaged.
base::Status count_tape(schema::TapeReader& tape, TapeCounts& counts,
                        const std::function<void(double)>& progress,
                        StackProfile* stacks = nullptr);

// The same for `profile` alone, of the first `until` events.
base::Status count_stacks(schema::TapeReader& tape, StackProfile& profile,
                          const std::function<void(double)>& progress, uint64_t until = UINT64_MAX);

struct NamedCalls {
  std::string name;  // of an entry point: "malloc"
  uint64_t count;
};
// Those that were called at all, in the order of their stored values.
std::vector<NamedCalls> calls_by_name(const TapeCounts& counts);

// Who made the calls, of a tape with call stacks.
struct NamedCallers {
  const SiteTable& table;
  const CallSites& births;  // of named_births()
};

// The calls that asked for the blocks of those growth chains that are named one by one.
std::vector<uint64_t> named_births(const TapeCounts& counts);

// TapeStats of report.capnp as JSON. `callers` is null where the tape has no stacks. Fails only
// when a text is longer than Cap'n Proto takes.
base::Result<std::string> stats_json(const schema::TapeReader& tape, const TapeCounts& counts,
                                     const NamedCallers* callers);

}  // namespace heaptape::replayer
