// What a replay comes to: the moments of the tape, and which run is best then.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// The moment that is looked at beside the peak: "atPlateau", or "atExit" where there is no plateau.
std::string second_state(const std::vector<schema::RunFigures>& runs);

// A line for each moment, with what the program had then.
std::string moment_lines(const schema::ReportFigures& report);

// Which of the runs that say what a real allocator would do has least resident, and how much; empty
// where there is nothing to choose from. `runs` are those of the figures.
std::string best_line(const std::vector<schema::RunFigures>& figures,
                      const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
