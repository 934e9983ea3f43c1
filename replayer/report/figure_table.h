// The figures that judge a replay, a row for each run, for tables in any format.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "replayer/text/text_table.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

struct FigureTable {
  struct Row {
    size_t run = 0;  // index into the runs
    std::string label;
    std::vector<std::string> cells;  // by column: the figure in its unit, or "-"
  };
  std::vector<std::string> metrics;  // by column
  std::vector<Row> rows;
};

// Residency and holes at the peak and at second_state(), the peaks, and the time, for every run; no
// distance to ideal where malloc has less than half of the memory. `runs` must belong to the
// figures, here and below.
FigureTable overview_table(const schema::ReportFigures& report, const std::vector<RunResult>& runs);

// Where the memory is at second_state(), as a sum, for runs that place blocks: docs/metrics.md,
// "The account". No rows if there are none.
FigureTable account_table(const std::vector<schema::RunFigures>& figures,
                          const std::vector<RunResult>& runs);

// Two headings (groups, then names), and a row for each run.
std::vector<TableRow> text_rows(const FigureTable& table);

}  // namespace heaptape::replayer
