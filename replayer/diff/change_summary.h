// The change between two reports, in a few sentences. docs/metrics.md, "What changed".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replayer/diff/cohort_diff.h"
#include "replayer/diff/run_diff.h"
#include "replayer/diff/site_diff.h"

namespace heaptape::replayer {

// A part of what a run holds, as in its account, or memory beside malloc.
struct ChangedPart {
  std::string kind;  // as kind_name() of verdicts, and "top"
  int64_t bytes = 0;
  std::string text;    // "+1.20 MiB live: remember (cache.c:22) has 1.19 MiB more at the peak"
  std::string action;  // a clause; may be empty

  // Both in one line.
  std::string line() const;
};

struct ChangeSummary {
  std::string headline;            // a sentence; empty if no run has resident bytes in both reports
  std::string run;                 // label, in the new report
  std::string state;               // "atPlateau"
  std::vector<ChangedPart> parts;  // the greatest first

  // The headline, and a part for each line with what to do below it, indented. Empty without a
  // headline.
  std::string text() const;
};

// About the run of the new report's verdict, or the first that has resident bytes, at the moment at
// which these changed most. Omits parts with less than a hundredth of them or 64 KiB. The others
// are what has been found to have changed.
ChangeSummary summarize(const schema::ReportFigures& base, const schema::ReportFigures& now,
                        std::span<const RunDiff> runs, std::span<const SiteChanges> sites,
                        std::span<const CohortChanges> cohorts);

}  // namespace heaptape::replayer
