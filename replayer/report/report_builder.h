// Builds reports from measured replays: as JSON, as a CSV timeline, as figures for a table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/answers/verdict.h"
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
  std::string timeline_csv;  // a line for each run and sample; the columns are those of Timeline
  schema::ReportFigures figures;
  std::vector<schema::TimelineFigures> timelines;  // by run
  // The same JSON without white space and its long parts (timelines, call stacks, sites), and
  // without the verdict.
  std::string short_json;
  Verdict verdict;
  std::string verdict_json;  // that part of the report
};

// The sites of the replayed calls.
struct RankedSites {
  Sites sites;
  SiteTable table;
  std::vector<PinnedStacks> pinned = {};
  schema::StackTree stacks = {};  // with pinned bytes
};

// Adds the names of sites to a verdict.
using NameSites = std::function<base::Status(Verdict&)>;

// `runs` are the result of replay() on this tape, with the same options. `sites` is null if the
// tape has no call stacks, and `name_sites` then empty. Fails if a part of the report is too large
// for Cap'n Proto, and as `name_sites` does.
base::Result<BuiltReport> build_report(const schema::TapeReader& tape,
                                       const std::vector<RunResult>& runs,
                                       const ReplayOptions& options,
                                       const RankedSites* sites = nullptr,
                                       const NameSites& name_sites = {});

}  // namespace heaptape::replayer
