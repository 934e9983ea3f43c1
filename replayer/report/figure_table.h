// The figures that a replay is judged by, a row for each run: what tables for people are made of,
// in whatever form they come.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

struct FigureTable {
  struct Row {
    size_t run = 0;  // index into the runs
    std::string label;
    std::vector<std::string> cells;  // by column: the figure in its unit, or "-"
  };
  std::vector<std::string> metrics;  // of the columns
  std::vector<Row> rows;
};

// Residency and holes at the peak and at second_state(), the peaks, and the time: of every run.
// `runs` are those of the figures, here and below.
FigureTable overview_table(const std::vector<schema::RunFigures>& figures,
                           const std::vector<RunResult>& runs);

// Where the memory is at second_state(), as a sum: docs/metrics.md, "The account". Of the runs that
// place blocks; no row where none does.
FigureTable account_table(const std::vector<schema::RunFigures>& figures,
                          const std::vector<RunResult>& runs);

}  // namespace heaptape::replayer
