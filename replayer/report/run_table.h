// The table that `heaptape replay` prints.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// A heading, one line per run, then what was and was not replayed. ASCII, at most 120 columns if
// labels are short. `report` must be built from `runs`.
std::string run_table(const schema::ReportFigures& report, const std::vector<RunResult>& runs);

// The lines below its tables: what was and was not replayed, notes, counters.
std::string run_lines(const schema::ReportFigures& report, const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
