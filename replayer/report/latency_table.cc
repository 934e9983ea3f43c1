#include "replayer/report/latency_table.h"

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {
namespace {

void add_rows(const RunResult& run, std::vector<TableRow>& rows) {
  for (const LatencyRange& latency : run.metrics.latencies) {
    const auto& middle = latency.middle;
    const std::string sizes = middle.sizes.empty() ? "" : " " + middle.sizes;
    rows.push_back(
        {base::display_text(run.spec.label) + " " + allocators::name_of(middle.kind) + sizes,
         base::grouped(middle.samples), base::grouped(middle.p50_ns), base::grouped(middle.p99_ns),
         base::grouped(middle.p999_ns), base::grouped(latency.greatest.max_ns),
         "#" + base::grouped(latency.greatest.max_event)});
  }
}

}  // namespace

std::string latency_table(const std::vector<RunResult>& runs) {
  std::vector<TableRow> rows{{"ns a call", "timed", "p50", "p99", "p99.9", "max", "at"}};
  for (const RunResult& run : runs) add_rows(run, rows);
  return rows.size() == 1 ? "" : "\n" + aligned(rows);
}

}  // namespace heaptape::replayer
