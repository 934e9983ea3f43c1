#include "replayer/diff/merged_base.h"

#include <algorithm>
#include <utility>

#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using schema::Metric;
using schema::MetricValue;
using schema::RunFigures;
using schema::Spread;

bool is_less(const MetricValue& a, const MetricValue& b) {
  return schema::number_of(a) < schema::number_of(b);
}

void merge_metric(const std::vector<const RunFigures*>& runs, const std::string& name,
                  RunFigures& merged) {
  std::vector<MetricValue> values;
  double least = 0;
  double greatest = 0;
  for (const RunFigures* const run : runs) {
    const auto value = run->metric(name);
    if (!value) continue;
    const auto number = static_cast<double>(schema::number_of(*value));
    const Spread spread = run->spread(name).value_or(Spread{name, number, number});
    least = values.empty() ? spread.least : std::min(least, spread.least);
    greatest = values.empty() ? spread.greatest : std::max(greatest, spread.greatest);
    values.push_back(*value);
  }
  std::ranges::sort(values, is_less);
  merged.metrics.push_back({name, values[(values.size() - 1) / 2]});
  if (least != greatest) merged.spreads.push_back({name, least, greatest});
}

RunFigures merge(const std::vector<const RunFigures*>& runs) {
  RunFigures merged = *runs.back();
  merged.metrics.clear();
  merged.spreads.clear();
  std::vector<std::string> names;
  for (const RunFigures* const run : runs) {
    for (const Metric& metric : run->metrics) {
      if (std::ranges::find(names, metric.name) == names.end()) names.push_back(metric.name);
    }
  }
  for (const std::string& name : names) merge_metric(runs, name, merged);
  return merged;
}

}  // namespace

NamedReport merged_base(std::vector<NamedReport> reports) {
  NamedReport base = std::move(reports.back());
  reports.pop_back();
  if (reports.empty()) return base;
  std::vector<RunFigures> merged;
  std::vector<const std::vector<RunFigures>*> sides;
  for (const NamedReport& report : reports) sides.push_back(&report.figures.runs);
  sides.push_back(&base.figures.runs);
  std::vector<std::string> labels;
  for (const auto* const side : sides) {
    for (const RunFigures& run : *side) {
      if (std::ranges::find(labels, run.label) == labels.end()) labels.push_back(run.label);
    }
  }
  for (const std::string& label : labels) {
    std::vector<const RunFigures*> whole;
    const RunFigures* failed = nullptr;
    for (const auto* const side : sides) {
      const auto found = std::ranges::find(*side, label, &RunFigures::label);
      if (found == side->end()) continue;
      if (found->failure.empty()) {
        whole.push_back(&*found);
      } else {
        failed = &*found;
      }
    }
    merged.push_back(whole.empty() ? *failed : merge(whole));
  }
  base.figures.runs = std::move(merged);
  base.path += " and " + base::grouped(reports.size()) + " more";
  return base;
}

}  // namespace heaptape::replayer
