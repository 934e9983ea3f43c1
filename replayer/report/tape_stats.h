// The counts of `heaptape stats`, which needs no allocator.
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
  // `run_calls`: the number of calls to count.
  explicit TapeCounts(uint64_t run_calls) : resolver(run_calls) {}

  std::array<uint64_t, schema::kOpLimit> calls{};  // by stored value of the op
  // Calls that map memory beside malloc, or steer the allocator: by stored value of their ops.
  std::array<uint64_t, UINT8_MAX + 1> mapping_calls{};
  std::array<uint64_t, UINT8_MAX + 1> steering_calls{};
  uint64_t null_frees = 0;
  SlotResolver resolver;
  TapeProfile profile;
};

// Counts every event of a reader at the beginning of its tape. `progress`, which must not be empty,
// gets the share done, 0 to 1. Also counts into `stacks` unless it is null. Fails if the tape is
// damaged.
base::Status count_tape(schema::TapeReader& tape, TapeCounts& counts,
                        const std::function<void(double)>& progress,
                        StackProfile* stacks = nullptr);

// The same for `profile` alone, for the events `from` to `until`.
base::Status count_stacks(schema::TapeReader& tape, StackProfile& profile,
                          const std::function<void(double)>& progress, uint64_t from = 1,
                          uint64_t until = UINT64_MAX);

struct NamedCalls {
  std::string name;  // of an entry point: "malloc"
  uint64_t count;
};
// The ops that occur, in the order of their stored values.
std::vector<NamedCalls> calls_by_name(const TapeCounts& counts);
// The calls that are no events.
std::vector<NamedCalls> calls_beside_malloc(const TapeCounts& counts);

// The sites of the calls, for a tape with call stacks.
struct NamedCallers {
  const SiteTable& table;
  const CallSites& births;  // of named_births()
};

// The calls that allocated the blocks of the growth chains to be listed individually.
std::vector<uint64_t> named_births(const TapeCounts& counts);

// TapeStats of report.capnp as JSON. `callers` is null if the tape has no stacks. Fails only if a
// text is too long for Cap'n Proto.
base::Result<std::string> stats_json(const schema::TapeReader& tape, const TapeCounts& counts,
                                     const NamedCallers* callers);

}  // namespace heaptape::replayer
