// The table that `heaptape replay` prints.
#pragma once

#include <string>

#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// One line a run under a heading, then what was and was not replayed. ASCII, at most 120 columns
// while labels are short.
std::string run_table(const schema::ReportFigures& report);

}  // namespace heaptape::replayer
