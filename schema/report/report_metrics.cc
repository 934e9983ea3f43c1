#include "schema/report/report_metrics.h"

#include <capnp/dynamic.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/display_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_json.h"

namespace heaptape::schema {
namespace {

using capnp::DynamicStruct;
using capnp::DynamicValue;

// A metric of report.capnp: how to find it in a part of a report, and what it is called.
struct MetricField {
  std::string name;
  std::optional<MetricUnit> unit = {};
  std::vector<capnp::StructSchema::Field> path = {};  // from the part to the number
};

MetricUnit to_unit(wire::Unit unit) {
  switch (unit) {
    case wire::Unit::COUNT:
      return MetricUnit::kCount;
    case wire::Unit::BYTES:
      return MetricUnit::kBytes;
    case wire::Unit::NS:
      return MetricUnit::kNs;
    case wire::Unit::RATIO:
      return MetricUnit::kRatio;
  }
  HEAPTAPE_CHECK(!"a unit that report.capnp does not have");
}

std::optional<MetricUnit> unit_of(capnp::StructSchema::Field field) {
  for (const auto annotation : field.getProto().getAnnotations()) {
    if (annotation.getId() != wire::UNIT_ANNOTATION) continue;
    return to_unit(static_cast<wire::Unit>(annotation.getValue().getEnum()));
  }
  return std::nullopt;
}

bool is_number(capnp::Type type) {
  return type.which() >= capnp::schema::Type::INT8 && type.which() <= capnp::schema::Type::FLOAT64;
}

// Appends the numbers of `part`, depth first. `holder` is the field that holds it. A PeakValue
// gives NAME (its value) and NAME.at.
void add_metrics(capnp::StructSchema part, const MetricField& holder,
                 std::vector<MetricField>& out) {
  if (part == capnp::Schema::from<wire::Failure>()) return;  // instead of figures, not one of them
  const bool is_peak_value = part == capnp::Schema::from<wire::PeakValue>();
  for (const auto field : part.getFields()) {
    MetricField metric = holder;
    metric.path.push_back(field);
    const std::string name = field.getProto().getName().cStr();
    if (!is_peak_value || name != "value") metric.name += (metric.name.empty() ? "" : ".") + name;
    if (const auto unit = unit_of(field)) metric.unit = unit;
    if (field.getType().isStruct()) {
      add_metrics(field.getType().asStruct(), metric, out);
    } else if (is_number(field.getType())) {
      HEAPTAPE_CHECK(metric.unit);
      out.push_back(std::move(metric));
    }
  }
}

template <typename Part>
std::vector<MetricField> fields_of(const MetricField& holder = {}) {
  std::vector<MetricField> all;
  add_metrics(capnp::Schema::from<Part>(), holder, all);
  return all;
}

const std::vector<MetricField>& run_fields() {
  static const std::vector<MetricField> fields = fields_of<wire::Run>();
  return fields;
}

// What the recording lost: of the tape, so of each run.
const std::vector<MetricField>& loss_fields() {
  static const std::vector<MetricField> fields = fields_of<wire::Losses>({.name = "tape.losses"});
  return fields;
}

// Null if there is none.
const MetricField* find_field(std::string_view name) {
  for (const auto* const fields : {&run_fields(), &loss_fields()}) {
    const auto found = std::ranges::find(*fields, name, &MetricField::name);
    if (found != fields->end()) return &*found;
  }
  return nullptr;
}

// `name` is counters.NAME. Reports do not store the units of counters, so their names say it.
MetricUnit counter_unit(std::string_view name) {
  const std::string_view leaf = name.substr(name.rfind('.') + 1);  // of counters.base.NAME too
  if (leaf.starts_with("bytes") || leaf.find("Bytes") != leaf.npos) return MetricUnit::kBytes;
  if (leaf.starts_with("nsPer") || leaf.ends_with("Ns")) return MetricUnit::kNs;
  return MetricUnit::kCount;
}

const std::vector<std::string>& latency_fields() {
  static const std::vector<std::string> fields = [] {
    std::vector<std::string> names;
    for (const auto field : capnp::Schema::from<wire::Latency>().getFields()) {
      if (is_number(field.getType())) names.emplace_back(field.getProto().getName().cStr());
    }
    return names;
  }();
  return fields;
}

// `name` is latency.OP.FIELD or latency.OP.SIZES.FIELD.
bool is_latency_name(std::string_view name) {
  const std::string_view parts = name.substr(kLatencyPrefix.size());
  const size_t dot = parts.rfind('.');
  if (dot == 0 || dot == parts.npos) return false;
  return std::ranges::find(latency_fields(), parts.substr(dot + 1)) != latency_fields().end();
}

// Those of a State, with their paths from there.
const std::vector<MetricField>& state_fields() {
  static const std::vector<MetricField> fields = fields_of<wire::State>();
  return fields;
}

// `name` is atMark.NAME.FIELD, where NAME may have dots, too. Null if it has no such field.
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

// A number of a state that is not known where its holes are not, though the report cannot leave it
// out. `name` is its name in the state.
bool needs_holes(std::string_view name) {
  return name == "usableBytes" || name == "slackBytes" || name == "residentHoleBytes";
}

bool is_unknown(DynamicStruct::Reader run, const MetricField& metric) {
  const capnp::StructSchema::Field first = metric.path.front();
  if (metric.path.size() != 2 || !first.getType().isStruct() ||
      first.getType().asStruct() != capnp::Schema::from<wire::State>()) {
    return false;
  }
  return needs_holes(metric.path.back().getProto().getName().cStr()) && run.has(first) &&
         !run.get(first).as<DynamicStruct>().has("holes");
}

// Nothing if the report leaves a part out that holds the number, or if it is not finite.
std::optional<MetricValue> value_of(DynamicStruct::Reader part, const MetricField& metric) {
  for (const auto field : metric.path) {
    const DynamicValue::Reader value = part.get(field);
    if (value.getType() == DynamicValue::UINT) return value.as<uint64_t>();
    if (value.getType() == DynamicValue::INT) return static_cast<double>(value.as<int64_t>());
    if (value.getType() == DynamicValue::FLOAT) {
      if (!std::isfinite(value.as<double>())) return std::nullopt;
      return value.as<double>();
    }
    if (!part.has(field)) return std::nullopt;
    part = value.as<DynamicStruct>();
  }
  return std::nullopt;
}

std::string to_text(capnp::Text::Reader text) {
  return base::display_text({text.begin(), text.size()});
}

}  // namespace

long double number_of(const MetricValue& value) {
  return std::visit([](auto number) { return static_cast<long double>(number); }, value);
}

MetricUnit metric_unit(std::string_view name) {
  if (name.starts_with(kCounterPrefix)) return counter_unit(name);
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
  if (name.starts_with(kMarkPrefix)) return mark_field(name) != nullptr;
  return find_field(name) != nullptr;
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

namespace {

void add_latency(wire::Latency::Reader latency, RunFigures& figures) {
  std::string name = std::string(kLatencyPrefix) + to_text(latency.getOp()) + ".";
  if (latency.getSizes().size() != 0) name += to_text(latency.getSizes()) + ".";
  const DynamicStruct::Reader fields = latency;
  for (const std::string& field : latency_fields()) {
    figures.metrics.push_back({name + field, fields.get(field).as<uint64_t>()});
  }
}

void add_mark(wire::MarkState::Reader mark, RunFigures& figures) {
  if (mark.getName().size() == 0) return;  // none of ours: no metric could be called so
  const std::string name = std::string(kMarkPrefix) + to_text(mark.getName()) + ".";
  const DynamicStruct::Reader state = mark.getState();
  for (const MetricField& field : state_fields()) {
    if (!mark.getState().hasHoles() && needs_holes(field.name)) continue;
    if (const auto value = value_of(state, field)) {
      figures.metrics.push_back({name + field.name, *value});
    }
  }
}

void add_losses(wire::Losses::Reader losses, RunFigures& figures) {
  for (const MetricField& metric : loss_fields()) {
    if (const auto value = value_of(losses, metric))
      figures.metrics.push_back({metric.name, *value});
  }
}

std::vector<CohortFigures> cohorts_of(capnp::List<wire::ProgramInfo::Cohort>::Reader list) {
  std::vector<CohortFigures> cohorts;
  for (const auto cohort : list) {
    cohorts.push_back({.size_bytes = cohort.getSizeBytes(),
                       .is_other_sizes = cohort.getOtherSizes(),
                       .window = cohort.getWindow(),
                       .count = cohort.getCount(),
                       .bytes = cohort.getBytes(),
                       .first_birth = cohort.getFirstBirth(),
                       .last_birth = cohort.getLastBirth()});
  }
  return cohorts;
}

}  // namespace

RunFigures figures_of(wire::Run::Reader run) {
  RunFigures figures;
  figures.label = to_text(run.getLabel());
  figures.backend = to_text(run.getBackend());
  figures.threads = to_text(run.getThreads());
  figures.touch = to_text(run.getTouch());
  figures.clock = to_text(run.getClock());
  figures.incomparable = to_text(run.getIncomparable());
  if (run.hasFailure()) {
    const uint64_t event = run.getFailure().getEvent();
    figures.failure = (event == 0 ? "before the first call" : "at #" + std::to_string(event)) +
                      ": " + to_text(run.getFailure().getText());
  }
  for (const auto note : run.getNotes()) figures.notes.push_back(to_text(note));
  for (const MetricField& metric : run_fields()) {
    if (is_unknown(run, metric)) continue;
    if (const auto value = value_of(run, metric)) figures.metrics.push_back({metric.name, *value});
  }
  for (const auto counter : run.getCounters()) {
    figures.metrics.push_back(
        {std::string(kCounterPrefix) + to_text(counter.getName()), counter.getValue()});
  }
  for (const auto latency : run.getLatency()) add_latency(latency, figures);
  for (const auto mark : run.getAtMarks()) add_mark(mark, figures);
  for (const auto spread : run.getSpreads()) {
    figures.spreads.push_back(
        {to_text(spread.getMetric()), spread.getLeast(), spread.getGreatest()});
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
  figures.tape_command = to_text(report.getTape().getCommand());
  figures.tape_threads = report.getTape().getThreads();
  for (const auto run : report.getRuns()) {
    figures.runs.push_back(figures_of(run));
    if (report.getTape().hasLosses()) add_losses(report.getTape().getLosses(), figures.runs.back());
  }
  for (const auto moment : report.getMoments()) {
    figures.moments.push_back({to_text(moment.getName()), moment.getAt(), moment.getTimeNs()});
  }
  if (report.getTape().hasSites()) figures.sites = figures_of(report.getTape().getSites());
  const auto program = report.getProgram();
  if (program.hasLiveAtPeak() || program.hasLiveAtEnd()) {
    figures.cohorts = {cohorts_of(program.getLiveAtPeak()), cohorts_of(program.getLiveAtEnd())};
  }
  return figures;
}

base::Result<ReportFigures> read_figures(const std::string& path) {
  HEAPTAPE_ASSIGN_OR_RETURN(const ParsedReport report, read_report(path));
  return guard_kj(base::ErrorCode::kDamaged, "cannot read the numbers of " + base::quoted(path),
                  [&]() -> base::Result<ReportFigures> { return figures_of(report.root()); });
}

}  // namespace heaptape::schema
