// Compares two reports: matches their runs, lists the changes, and evaluates gates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/diff/change_summary.h"
#include "replayer/diff/cohort_diff.h"
#include "replayer/diff/gate.h"
#include "replayer/diff/run_diff.h"
#include "replayer/diff/site_diff.h"
#include "schema/report/report_metrics.h"
#include "schema/report/stack_tree.h"
#include "schema/report/timeline_figures.h"

namespace heaptape::replayer {

struct NamedReport {
  std::string path;  // as given on the command line
  schema::ReportFigures figures;
  std::optional<schema::StackTree> stacks = {};
  std::vector<schema::RunTimeline> timelines = {};  // for pages
};

struct ReportDiff {
  struct Side {
    std::string path;  // fit to print
    std::string tape;  // fit to print
    uint64_t events = 0;
  };

  Side base;
  Side now;
  // A sentence: the reports perhaps do not belong together. Usually empty.
  std::string warning;
  ChangeSummary summary;               // what to know first
  std::vector<std::string> notes;      // sentences: other tapes, runs missing on one side
  std::vector<RunDiff> runs;           // matched by label, in the order of the new report
  std::vector<SiteChanges> sites;      // for the tapes; empty unless both have call stacks
  std::vector<CohortChanges> cohorts;  // for the tapes; empty if one report has none
  std::vector<GateOutcome> gates;      // gate by gate, each for the runs in order
  bool lists_all_gates = false;        // in text: also those that did not fail
  size_t new_failures = 0;             // runs that failed only in the new report
  bool failed = false;                 // a gate failed, or a run failed only in the new report

  // One line that starts with "PASS" or "FAIL".
  std::string verdict() const;
};

// `only_run` restricts the comparison to that label; empty: every label that both reports have. A
// gate whose metric no compared run has fails for all of them: a misspelt counter must not pass CI.
// Without `only_run`, a gate also fails for a run of the base that has the metric and that the new
// report lacks; an optional gate is skipped there. With `baseline`, every run of `now` is compared
// with the run of that label in `base`, except that run itself if both are one report. Fails with
// kUsage if there is nothing to compare, or if two runs of one report share a label.
base::Result<ReportDiff> diff_reports(const NamedReport& base, const NamedReport& now,
                                      const std::vector<Gate>& gates, const std::string& only_run,
                                      const std::string& baseline = "");

}  // namespace heaptape::replayer
