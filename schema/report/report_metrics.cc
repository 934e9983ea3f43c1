#include "schema/report/report_metrics.h"

#include <capnp/dynamic.h>
#include <capnp/message.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/display_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_json.h"

namespace heaptape::schema {
namespace {

using capnp::DynamicStruct;
using capnp::DynamicValue;

// Whether parts that the report leaves out count as present (with every number 0).
enum class Unset : uint8_t { kSkip, kInclude };

std::optional<MetricValue> to_metric(const DynamicValue::Reader& value) {
  switch (value.getType()) {
    case DynamicValue::UINT:
      return value.as<uint64_t>();
    case DynamicValue::INT:
      return static_cast<double>(value.as<int64_t>());
    case DynamicValue::FLOAT:
      if (!std::isfinite(value.as<double>())) return std::nullopt;
      return value.as<double>();
    default:
      return std::nullopt;  // text, lists: not metrics
  }
}

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

// Visits the numeric leaves of `part` depth first. A PeakValue gives NAME (its value) and NAME.at.
void collect(const DynamicStruct::Reader& part, const std::string& prefix, Unset unset,
             std::vector<Metric>& out) {
  const bool is_peak_value = part.getSchema() == capnp::Schema::from<wire::PeakValue>();
  for (const auto field : part.getSchema().getFields()) {
    const std::string field_name = field.getProto().getName().cStr();
    const bool is_peak = is_peak_value && field_name == "value";
    const std::string name = is_peak ? prefix : joined(prefix, field_name);
    if (field.getType().isStruct()) {
      if (unset == Unset::kInclude || part.has(field)) {
        collect(part.get(field).as<DynamicStruct>(), name, unset, out);
      }
    } else if (const auto metric = to_metric(part.get(field))) {
      out.push_back({name, *metric});
    }
  }
}

std::string to_text(capnp::Text::Reader text) {
  return base::display_text({text.begin(), text.size()});
}

}  // namespace

long double number_of(const MetricValue& value) {
  return std::visit([](auto number) { return static_cast<long double>(number); }, value);
}

MetricUnit metric_unit(std::string_view name) {
  const std::string_view leaf = name.substr(name.rfind('.') + 1);  // npos + 1 == 0
  if (leaf.find("Bytes") != leaf.npos || leaf.starts_with("bytes") || leaf == "largest") {
    return MetricUnit::kBytes;
  }
  if (leaf.ends_with("Ns") || leaf.starts_with("nsPer")) return MetricUnit::kNs;
  if (leaf.ends_with("Share") || leaf == "fragmentation" || leaf == "distanceToIdeal" ||
      leaf.ends_with("Exponent")) {
    return MetricUnit::kRatio;
  }
  return MetricUnit::kCount;
}

const char* unit_name(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kBytes:
      return "bytes";
    case MetricUnit::kNs:
      return "ns";
    case MetricUnit::kRatio:
      return "ratio";
    case MetricUnit::kCount:
      break;
  }
  return "count";
}

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> names = [] {
    capnp::MallocMessageBuilder message;
    std::vector<Metric> metrics;
    collect(message.initRoot<wire::Run>().asReader(), "", Unset::kInclude, metrics);
    std::vector<std::string> result;
    for (Metric& metric : metrics) result.push_back(std::move(metric.name));
    return result;
  }();
  return names;
}

bool is_metric_name(std::string_view name) {
  if (name.starts_with(kCounterPrefix)) return name.size() > kCounterPrefix.size();
  return std::ranges::find(metric_names(), name) != metric_names().end();
}

std::optional<MetricValue> RunFigures::metric(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  if (found == metrics.end()) return std::nullopt;
  return found->value;
}

RunFigures figures_of(wire::Run::Reader run) {
  RunFigures figures;
  figures.label = to_text(run.getLabel());
  figures.backend = to_text(run.getBackend());
  figures.threads = to_text(run.getThreads());
  figures.touch = to_text(run.getTouch());
  collect(run, "", Unset::kSkip, figures.metrics);
  for (const auto counter : run.getCounters()) {
    figures.metrics.push_back(
        {std::string(kCounterPrefix) + to_text(counter.getName()), counter.getValue()});
  }
  for (const auto curve : run.getGrowth().getCurves()) {
    if (curve.getGrows()) figures.growth_verdicts.push_back(to_text(curve.getVerdict()));
  }
  return figures;
}

ReportFigures figures_of(wire::Report::Reader report) {
  ReportFigures figures;
  figures.tape_path = to_text(report.getTape().getPath());
  figures.tape_events = report.getTape().getEvents();
  for (const auto run : report.getRuns()) figures.runs.push_back(figures_of(run));
  return figures;
}

base::Result<ReportFigures> read_figures(const std::string& path) {
  HEAPTAPE_ASSIGN_OR_RETURN(const ParsedReport report, read_report(path));
  return guard_kj(base::ErrorCode::kDamaged, "cannot read the numbers of '" + path + "'",
                  [&]() -> base::Result<ReportFigures> { return figures_of(report.root()); });
}

}  // namespace heaptape::schema
