// The table that `heaptape replay` prints.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// A heading, one line per run, then what was and was not replayed. ASCII. `report` must be built
// from `runs`. `width`: columns of text that the tables may take (aligned_within).
std::string run_table(const schema::ReportFigures& report, const std::vector<RunResult>& runs,
                      size_t width);

// The lines below its tables: what was and was not replayed, notes, counters.
std::string run_lines(const schema::ReportFigures& report, const std::vector<RunResult>& runs);

// Says which memory the resident sizes of the recorded run cover; empty if it stands alone or has
// none.
std::string recorded_sizes_text(const schema::ReportFigures& report,
                                const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
