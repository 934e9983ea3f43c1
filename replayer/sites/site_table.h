// Totals for the blocks of each site, ranked. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replayer/sites/sites.h"
#include "replayer/sites/stack_profile.h"

namespace heaptape::replayer {

// The values that rank stacks and sites.
enum class StackValue : uint8_t { kPeak, kEnd, kBytes, kCalls, kTemporaries, kMapped };
uint64_t value_of(const StackTotals& totals, StackValue value);
// The standard error of that value, rounded; 0 if it is exact, or if its error is not known.
// docs/metrics.md, "Sampled stacks".
uint64_t standard_error(const StackTotals& totals, StackValue value);
uint64_t standard_error(double variance);

struct SiteRow {
  uint32_t site = Sites::kNone;
  StackTotals totals;
  uint64_t blocks = 0;                      // those freed, and those live at the end
  std::optional<uint64_t> median_lifetime;  // of these, in calls; nothing: most were never freed
};

// Facts about a tape with sampled stacks.
struct SampledSites {
  schema::StackRecording recording;
  uint64_t calls = 0;      // with stacks on the tape
  StackTotals whole_tape;  // no estimates
};

struct SiteTable {
  uint64_t peak_at = 0;                 // the first call after which live bytes peaked
  StackTotals total;                    // of all sites
  StackTotals left_out;                 // of sites that the user does not want to see
  std::vector<SiteRow> rows;            // of sites with any call, greatest value first
  std::optional<SampledSites> sampled;  // nothing: all figures are exact
};

// The tape has calls of sites, but the user hides them all.
inline bool shows_none(const SiteTable& table) {
  return table.rows.empty() && table.left_out.calls != 0;
}

// `profile` must group its lifetimes by `sites`.
SiteTable site_table(const StackProfile& profile, const Sites& sites, StackValue order);

}  // namespace heaptape::replayer
