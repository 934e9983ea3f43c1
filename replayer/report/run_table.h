// The table that `heaptape replay` prints.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// One line a run under a heading, then what was and was not replayed. ASCII, at most 120 columns
// while labels are short. `runs` are those that `report` was built from.
std::string run_table(const schema::ReportFigures& report, const std::vector<RunResult>& runs);

// What it has below its tables: what was and was not replayed, notes, counters.
std::string run_lines(const schema::ReportFigures& report, const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
