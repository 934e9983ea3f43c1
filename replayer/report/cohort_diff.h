// Which blocks account for what changed between two reports: their size and when they were asked
// for. docs/metrics.md, "Cohorts of two reports".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/report/cohort_figures.h"

namespace heaptape::replayer {

// Of the blocks of one size, or of the sizes of a band that one of the reports does not list one by
// one.
struct CohortChange {
  uint64_t size_bytes = 0;  // as CohortFigures
  bool is_other_sizes = false;
  // One report may have some of this size among its others, at most a tenth of what the other
  // report has: it is taken for 0 there.
  bool is_about = false;
  uint64_t base_count = 0;
  uint64_t now_count = 0;
  uint64_t base_bytes = 0;
  uint64_t now_bytes = 0;
  // The calls that asked for what changed: of the new report, or of the base where blocks are gone.
  uint64_t first_birth = 0;
  uint64_t last_birth = 0;
  bool is_most = false;  // these calls asked for nine tenths of it at least, but not for all

  // Of the whole change; negative for a size that changed the other way.
  double share(uint64_t base_total, uint64_t now_total) const;
};

// Of bytes that changed: those alive at one moment, or those in the holes of one run then.
struct CohortChanges {
  std::string moment;  // "peak", "end"; empty of holes
  std::string words;   // "bytes at the peak", "resident bytes in holes at the exit and the end"
  uint64_t base = 0;   // bytes
  uint64_t now = 0;
  std::vector<CohortChange> sizes;  // that changed, by their shares, the greatest first
  std::vector<std::string> states =
      {};  // of holes: "atExit", "end", which are one call in each report
};

// Of the peak and the end, in this order.
std::vector<CohortChanges> diff_cohorts(const schema::LiveCohorts& base,
                                        const schema::LiveCohorts& now);

// What two runs have in holes, by the blocks beside them: of the states that both have.
std::vector<CohortChanges> diff_pins(const std::vector<schema::PinCohorts>& base,
                                     const std::vector<schema::PinCohorts>& now);

// "64 B", "256 B to 511 B", "many sizes"
std::string sizes_text(const CohortChange& change);

// "+1,048,576 blocks of 64 B alive at the end, asked for between #1,000 and #2,000,000 (98.0% of
// the change)": the first size; empty if none has a share of the change.
std::string blocks_text(const CohortChanges& changes);

// "resident bytes in holes at the peak: +3.05 MiB, 98.0% of it beside blocks of 232 B asked for
// between #1,000 and #2,000,000": the first size, if it has a good part of the change; its own
// change where others changed the other way. Empty if nothing is beside the holes that changed.
std::string pins_text(const CohortChanges& changes);

}  // namespace heaptape::replayer
