#include "replayer/report/spread_fields.h"

#include <capnp/message.h>

#include <algorithm>
#include <map>
#include <string>

#include "replayer/report/run_fields.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {
namespace {

using schema::MetricValue;

struct Spread {
  MetricValue least;
  MetricValue greatest;
  size_t count = 1;
};

double as_double(const MetricValue& value) {
  return static_cast<double>(schema::number_of(value));
}

// Omits extremes of the repeats, and places.
bool is_told(const std::string& metric) {
  return !metric.ends_with("Min") && !metric.ends_with("Max") && !metric.ends_with("maxAt") &&
         !metric.ends_with(".at");
}

}  // namespace

// The caller is inside guard_kj; the small messages built here may throw as well.
void set_spreads(schema::wire::Run::Builder out, const std::vector<RunMetrics>& repeats) {
  if (repeats.size() < 2) return;
  std::map<std::string, Spread> spreads;
  for (const RunMetrics& repeat : repeats) {
    capnp::MallocMessageBuilder message;
    const auto run = message.initRoot<schema::wire::Run>();
    set_metrics(run, repeat);
    for (const schema::Metric& metric : schema::figures_of(run.asReader()).metrics) {
      const auto [found, is_new] =
          spreads.try_emplace(metric.name, Spread{metric.value, metric.value});
      if (is_new) continue;
      Spread& spread = found->second;
      ++spread.count;
      if (as_double(metric.value) < as_double(spread.least)) spread.least = metric.value;
      if (as_double(metric.value) > as_double(spread.greatest)) spread.greatest = metric.value;
    }
  }
  std::erase_if(spreads, [&repeats](const auto& entry) {
    const Spread& spread = entry.second;
    return !is_told(entry.first) || spread.count != repeats.size() ||
           spread.least == spread.greatest;
  });
  auto list = out.initSpreads(static_cast<unsigned>(spreads.size()));
  unsigned next = 0;
  for (const auto& [name, spread] : spreads) {
    list[next].setMetric(name);
    list[next].setLeast(as_double(spread.least));
    list[next++].setGreatest(as_double(spread.greatest));
  }
}

}  // namespace heaptape::replayer
