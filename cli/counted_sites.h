// The call sites of a tape, counted and ranked.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/tape_stacks.h"
#include "replayer/report/report_builder.h"
#include "replayer/sites/site_table.h"
#include "replayer/sites/stack_ends.h"
#include "replayer/sites/stack_profile.h"

namespace heaptape::cli {

struct CountedSites {
  std::unique_ptr<const TapeStacks> stacks;  // `ranked` has pointers into it
  replayer::RankedSites ranked;
  replayer::StackEnds ends;
  std::vector<replayer::StackCount> by_stack;  // each stack that made calls
};

// Counts the calls `from` to `until` of the tape that `stacks` come from. The reader must be at its
// beginning, and is again on return. Fails if the filters hide all sites.
base::Result<CountedSites> count_sites(schema::TapeReader& tape, TapeStacks stacks,
                                       const replayer::SiteRules& rules, replayer::StackValue order,
                                       uint64_t from, uint64_t until, Console& console);

}  // namespace heaptape::cli
