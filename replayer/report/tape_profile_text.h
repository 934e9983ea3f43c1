// Sizes, lifetimes, resizes and threads of a tape as `heaptape stats` prints them, and as CSV.
#pragma once

#include <cstdint>
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

// A bucket of lifetimes. Exact: its borders are the histogram's.
struct CdfPoint {
  uint64_t from;
  uint64_t up_to;
  uint64_t count;   // in the bucket
  uint64_t blocks;  // with a lifetime up to `up_to`
  double share;     // of all blocks
};
// The nonempty buckets, ascending.
std::vector<CdfPoint> cdf(const LogHistogram& lifetimes, uint64_t blocks);

// Output of `stats --csv`: size buckets, then lifetimes in calls and in ns, a line each.
std::string profile_csv(const TapeCounts& counts);

}  // namespace heaptape::replayer
