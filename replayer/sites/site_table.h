// What the blocks of each site come to, ranked. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replayer/sites/sites.h"
#include "replayer/sites/stack_profile.h"

namespace heaptape::replayer {

// What stacks and sites are ranked by.
enum class StackValue : uint8_t { kPeak, kEnd, kBytes, kCalls, kTemporaries };
uint64_t value_of(const StackTotals& totals, StackValue value);

struct SiteRow {
  uint32_t site = Sites::kNone;
  StackTotals totals;
  uint64_t blocks = 0;                      // that belonged to it to their ends, or to the tape's
  std::optional<uint64_t> median_lifetime;  // of these, in calls; nothing: most were never freed
};

struct SiteTable {
  uint64_t peak_at = 0;       // the first call after which live bytes were at their peak
  StackTotals total;          // of the whole tape
  StackTotals left_out;       // of what the user does not want to see
  std::vector<SiteRow> rows;  // of sites with any call, by the value, the greatest first
};

// `profile` must have its groups by `sites`.
SiteTable site_table(const StackProfile& profile, const Sites& sites, StackValue order);

}  // namespace heaptape::replayer
