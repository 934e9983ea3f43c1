#include "schema/report/report_metrics.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "schema/report/metric_fields.h"

namespace heaptape::schema {
namespace {

// Null if there is none.
const MetricField* find_field(std::string_view name) {
  for (const auto* const fields : {&run_fields(), &loss_fields()}) {
    const auto found = std::ranges::find(*fields, name, &MetricField::name);
    if (found != fields->end()) return &*found;
  }
  return nullptr;
}

// `name` is counters.NAME. Reports do not store the units of counters; their names imply them.
MetricUnit counter_unit(std::string_view name) {
  const std::string_view leaf = name.substr(name.rfind('.') + 1);  // also of counters.base.NAME
  if (leaf.starts_with("bytes") || leaf.find("Bytes") != leaf.npos) return MetricUnit::kBytes;
  if (leaf.starts_with("nsPer") || leaf.ends_with("Ns")) return MetricUnit::kNs;
  return MetricUnit::kCount;
}

// `name` is latency.OP.FIELD or latency.OP.SIZES.FIELD.
bool is_latency_name(std::string_view name) {
  const std::string_view parts = name.substr(kLatencyPrefix.size());
  const size_t dot = parts.rfind('.');
  if (dot == 0 || dot == parts.npos) return false;
  return std::ranges::find(latency_fields(), parts.substr(dot + 1)) != latency_fields().end();
}

// `name` is atMark.NAME.FIELD, where NAME may contain dots. Null if it has no such field.
const MetricField* mark_field(std::string_view name) {
  const std::string_view parts = name.substr(kMarkPrefix.size());
  for (const MetricField& field : state_fields()) {
    if (parts.size() > field.name.size() + 1 && parts.ends_with(field.name) &&
        parts[parts.size() - field.name.size() - 1] == '.') {
      return &field;
    }
  }
  return nullptr;
}

// A state that a report may have the process at.
bool is_process_state(std::string_view state) {
  constexpr std::string_view kStates[] = {"peak", "end", "atPeak", "atPlateau", "atExit"};
  if (state.starts_with(kMarkPrefix)) return state.size() > kMarkPrefix.size();
  return std::ranges::find(kStates, state) != std::end(kStates);
}

}  // namespace

long double number_of(const MetricValue& value) {
  return std::visit([](auto number) { return static_cast<long double>(number); }, value);
}

MetricUnit metric_unit(std::string_view name) {
  if (name.starts_with(kCounterPrefix)) return counter_unit(name);
  if (!owners_prefix(name).empty()) return MetricUnit::kBytes;
  if (name.starts_with(kMarkPrefix)) {
    const MetricField* const field = mark_field(name);
    HEAPTAPE_CHECK(field != nullptr);
    return *field->unit;
  }
  if (name.starts_with(kLatencyPrefix)) {
    return name.find("Ns", name.rfind('.')) == name.npos ? MetricUnit::kCount : MetricUnit::kNs;
  }
  const MetricField* const field = find_field(name);
  HEAPTAPE_CHECK(field != nullptr);
  return *field->unit;
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
    std::vector<std::string> all;
    for (const MetricField& metric : run_fields()) all.push_back(metric.name);
    for (const MetricField& metric : loss_fields()) all.push_back(metric.name);
    return all;
  }();
  return names;
}

bool is_metric_name(std::string_view name) {
  if (name.starts_with(kCounterPrefix)) return name.size() > kCounterPrefix.size();
  if (name.starts_with(kLatencyPrefix)) return is_latency_name(name);
  if (!owners_prefix(name).empty()) return true;
  if (name.starts_with(kMarkPrefix)) return mark_field(name) != nullptr;
  return find_field(name) != nullptr;
}

std::string_view owners_prefix(std::string_view name) {
  if (!name.ends_with(kOwnerSuffix)) return {};
  const size_t infix = name.rfind(kOwnersInfix);
  if (infix == name.npos || !is_process_state(name.substr(0, infix))) return {};
  const size_t begin = infix + kOwnersInfix.size();
  const size_t end = name.size() - kOwnerSuffix.size();
  return begin < end && is_owner_name(name.substr(begin, end - begin)) ? name.substr(0, begin)
                                                                       : std::string_view();
}

std::optional<MetricValue> RunFigures::metric(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  if (found == metrics.end()) return std::nullopt;
  return found->value;
}

std::optional<Spread> RunFigures::spread(std::string_view name) const {
  const auto found = std::ranges::find(spreads, name, &Spread::metric);
  const bool is_known = found != spreads.end() && found->least <= found->greatest;
  return is_known ? std::optional(*found) : std::nullopt;
}

const ProcessFigures* ReportFigures::process_near(const std::string& moment) const {
  constexpr uint64_t kNear = 16;
  uint64_t duration_ns = 0;
  for (const MomentFigures& one : moments) duration_ns = std::max(duration_ns, one.time_ns);
  const auto found = std::ranges::find(moments, moment, &MomentFigures::name);
  if (found == moments.end() || !found->process) return nullptr;
  const auto [first, last] = std::minmax(found->time_ns, found->process->time_ns);
  return last - first <= duration_ns / kNear ? &*found->process : nullptr;
}

}  // namespace heaptape::schema
