// What tables, JSON and CSV say of a tape's sizes and lifetimes, as they all work it out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/report/tape_stats.h"

namespace heaptape::replayer {

// A bucket of lifetimes. Exact: the borders are those of the histogram.
struct CdfPoint {
  uint64_t from;
  uint64_t up_to;
  uint64_t count;   // of blocks in the bucket
  uint64_t blocks;  // that lived for `up_to` at most
  double share;     // of all blocks
};
// Buckets that have any block, ascending.
std::vector<CdfPoint> cdf(const LogHistogram& lifetimes, uint64_t blocks);

// What `stats --csv` writes: size buckets, then lifetimes in calls and in ns, a line each.
std::string profile_csv(const TapeCounts& counts);

}  // namespace heaptape::replayer
