// Which blocks account for the change between two reports: their size and when they were allocated.
// docs/metrics.md, "Cohorts of two reports".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replayer/diff/site_diff.h"
#include "schema/report/cohort_figures.h"

namespace heaptape::replayer {

// The blocks of one size, or of the sizes in a band that one of the reports does not list
// individually.
struct CohortChange {
  uint64_t size_bytes = 0;  // as in CohortFigures
  bool is_other_sizes = false;
  // One report does not list this size: its blocks, at most a tenth of the other report's, may be
  // in a band.
  bool is_about = false;
  uint64_t base_count = 0;
  uint64_t now_count = 0;
  uint64_t base_bytes = 0;
  uint64_t now_bytes = 0;
  // The calls that allocated the change: in the new report, or in the base if blocks are gone.
  uint64_t first_birth = 0;
  uint64_t last_birth = 0;
  bool is_most = false;  // these calls allocated at least nine tenths of it, but not all

  // Share of the whole change; negative for a size that changed the other way.
  double share(uint64_t base_total, uint64_t now_total) const;
};

// A change of bytes: those live at one moment, or those in the holes of one run then.
struct CohortChanges {
  std::string moment;  // "peak", "end"; empty for holes
  std::string words;   // "bytes at the peak", "resident bytes in holes at the exit and the end"
  uint64_t base = 0;   // bytes
  uint64_t now = 0;
  std::vector<CohortChange> sizes;  // those that changed, greatest share first
  // For holes: the moments ("atExit", "end") that are the same call in each report.
  std::vector<std::string> states = {};
  std::optional<SiteChanges> sites = {};  // for holes, by the sites of these blocks, if known
};

// For the peak and the end, in this order.
std::vector<CohortChanges> diff_cohorts(const schema::LiveCohorts& base,
                                        const schema::LiveCohorts& now);

// For bytes in holes of two runs, by the blocks beside them, in each state that both runs have.
std::vector<CohortChanges> diff_pins(const std::vector<schema::PinCohorts>& base,
                                     const std::vector<schema::PinCohorts>& now);

// "64 B", "256 B to 511 B", "many sizes"
std::string sizes_text(const CohortChange& change);

// "+1,048,576 blocks of 64 B alive at the end, requested between #1,000 and #2,000,000: +64.0 MiB":
// the first size, if it changed as the whole did; otherwise empty.
std::string blocks_text(const CohortChanges& changes);

// "resident bytes in holes at the peak: +3.05 MiB, 98.0% of it beside blocks of 232 B requested
// between #1,000 and #2,000,000": the first size, if it accounts for at least a fifth of the
// change; if other sizes changed the other way, its change in bytes instead of its share. Empty if
// no blocks are beside the holes that changed.
std::string pins_text(const CohortChanges& changes);

}  // namespace heaptape::replayer
