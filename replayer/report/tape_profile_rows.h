// The sizes and lifetimes of a tape, computed once for tables, JSON and CSV.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/report/tape_stats.h"

namespace heaptape::replayer {

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
