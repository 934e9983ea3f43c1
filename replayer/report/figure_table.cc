#include "replayer/report/figure_table.h"

#include <algorithm>

#include "base/number_text.h"
#include "replayer/report/run_summary.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using allocators::BackendKind;
using schema::RunFigures;

// The metrics at each of two moments.
constexpr const char* kAtMoment[] = {"residentBytes", "residentHoleBytes",
                                     "account.purgeableBytes"};
constexpr const char* kOfRun[] = {"peak.residentBytes", "peak.committedBytes",
                                  "peak.distanceToIdeal", "time.nsPerEvent"};

// Where the memory is at one moment, as a sum: docs/metrics.md, "The account".
constexpr const char* kUnseen = "account.late.unseenBytes";
constexpr const char* kAccount[] = {"liveBytes",
                                    "slackBytes",
                                    "account.metadataBytes",
                                    "account.cachedBytes",
                                    "account.holeBytes",
                                    "account.topBytes",
                                    kUnseen,
                                    "residentBytes",
                                    "account.returnedBytes",
                                    "committedBytes"};

std::vector<std::string> columns_of(const schema::ReportFigures& report) {
  std::vector<std::string> columns;
  for (const std::string& state : {std::string("atPeak"), second_state(report.runs)}) {
    for (const char* const metric : kAtMoment) columns.push_back(state + "." + metric);
  }
  columns.insert(columns.end(), std::begin(kOfRun), std::end(kOfRun));
  if (malloc_has_less_than_half(report)) std::erase(columns, "peak.distanceToIdeal");
  return columns;
}

std::string cell(const RunFigures& run, BackendKind kind, const std::string& metric) {
  const bool is_time = metric == "time.nsPerEvent";
  // Everything else would be 0.
  if (kind == BackendKind::kNoop && !is_time) return "-";
  if (kind == BackendKind::kRecorded && is_time) return "-";
  const auto value = run.metric(metric);
  if (metric == "peak.distanceToIdeal" && value) {
    std::string text = base::ratio_text(static_cast<double>(schema::number_of(*value)));
    return text.substr(0, text.find('.') + 3);
  }
  return value_text(value, schema::metric_unit(metric));
}

FigureTable::Row row_of(size_t number, const RunFigures& run, BackendKind kind,
                        const std::vector<std::string>& columns) {
  FigureTable::Row row{number, run.label, {}};
  for (const std::string& metric : columns) row.cells.push_back(cell(run, kind, metric));
  return row;
}

}  // namespace

FigureTable overview_table(const schema::ReportFigures& report,
                           const std::vector<RunResult>& runs) {
  FigureTable table{columns_of(report), {}};
  for (size_t i = 0; i < runs.size(); ++i) {
    table.rows.push_back(row_of(i, report.runs[i], runs[i].spec.kind, table.metrics));
  }
  return table;
}

FigureTable account_table(const std::vector<RunFigures>& figures,
                          const std::vector<RunResult>& runs) {
  const std::string state = second_state(figures) + ".";
  FigureTable table;
  for (const char* const metric : kAccount) table.metrics.push_back(state + metric);
  const auto has_unseen = [&](const RunFigures& run) {
    return run.metric(state + kUnseen).has_value();
  };
  if (std::ranges::none_of(figures, has_unseen)) std::erase(table.metrics, state + kUnseen);
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!figures[i].metric(state + "account.holeBytes")) continue;
    table.rows.push_back(row_of(i, figures[i], runs[i].spec.kind, table.metrics));
  }
  return table;
}

std::vector<TableRow> text_rows(const FigureTable& table) {
  std::vector<TableRow> rows(2);
  rows[0].push_back("");
  rows[1].push_back("allocator");
  for (const std::string& metric : table.metrics) {
    const MetricHeading heading = heading_of(metric);
    rows[0].push_back(heading.group);
    rows[1].push_back(heading.name);
  }
  for (const FigureTable::Row& run : table.rows) {
    TableRow& row = rows.emplace_back(TableRow{run.label});
    row.insert(row.end(), run.cells.begin(), run.cells.end());
  }
  return rows;
}

}  // namespace heaptape::replayer
