// Sizes, lifetimes, resizes and threads of a tape as `heaptape stats` prints them.
#pragma once

#include <string>
#include <vector>

#include "replayer/report/tape_stats.h"
#include "schema/tape/tape_info.h"

namespace heaptape::replayer {

// Empty if nothing was allocated. `births` are those of named_births(), or null. Says what is
// missing from the trace that the tape was imported from.
std::string profile_text(const TapeCounts& counts, const CallSites* births = nullptr,
                         const schema::TapeOrigin& origin = {});

// `--by size`: every bucket, ascending.
std::string sizes_table(const SizeHistogram& sizes);

// `--by thread`: every thread, by number. `names` may be incomplete.
std::string threads_table(const ThreadTotals& threads,
                          const std::vector<schema::ThreadIdentity>& names);

}  // namespace heaptape::replayer
