// From what a replay measured to a report: as JSON, as a timeline in CSV, as figures for a table.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/engine/replay.h"
#include "replayer/sites/pinned_stacks.h"
#include "replayer/sites/site_table.h"
#include "schema/report/report_metrics.h"
#include "schema/report/stack_tree.h"
#include "schema/report/timeline_figures.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

struct BuiltReport {
  std::string json;
  std::string timeline_csv;  // one line for each run and sample; the columns are those of Timeline
  schema::ReportFigures figures;
  std::vector<schema::TimelineFigures> timelines;  // by run
  // The same JSON without white space, and without what is long: timelines, call stacks, sites.
  std::string short_json;
};

// Of the calls that were replayed.
struct RankedSites {
  Sites sites;
  SiteTable table;
  std::vector<PinnedStacks> pinned = {};
  schema::StackTree stacks = {};  // with what they pin
};

// `runs` are those of replay() on this tape, with the same options. `sites`: null where the tape
// has no call stacks. Fails only when a part of the report is larger than Cap'n Proto takes.
base::Result<BuiltReport> build_report(const schema::TapeReader& tape,
                                       const std::vector<RunResult>& runs,
                                       const ReplayOptions& options,
                                       const RankedSites* sites = nullptr);

}  // namespace heaptape::replayer
