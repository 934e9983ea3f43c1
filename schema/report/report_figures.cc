#include "schema/report/report_figures.h"

#include <capnp/dynamic.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/display_text.h"
#include "base/number_text.h"
#include "schema/heap_remedies.h"
#include "schema/kj_guard.h"
#include "schema/report/metric_fields.h"
#include "schema/report/report_file.h"
#include "schema/report/report_json.h"
#include "schema/report/text_of.h"

namespace heaptape::schema {
namespace {

using capnp::DynamicStruct;
using capnp::DynamicValue;

// A number of a state that is unknown if its holes are, though the report cannot omit it. `name` is
// its name in the state.
bool needs_holes(std::string_view name) {
  return name == "usableBytes" || name == "slackBytes" || name == "residentHoleBytes";
}

bool lacks(wire::Run::Reader run, std::string_view wanted) {
  for (const auto what : run.getLacks()) {
    if (std::string_view(what.cStr()) == wanted) return true;
  }
  return false;
}

bool has_name(const MetricField& metric, std::span<const std::string_view> names) {
  return std::ranges::any_of(metric.path, [names](const capnp::StructSchema::Field field) {
    return std::ranges::find(names, field.getProto().getName().cStr()) != names.end();
  });
}

bool lacks(wire::Run::Reader run, const MetricField& metric) {
  constexpr std::string_view kReturned[] = {"returnedBytes", "untouchedBytes"};
  constexpr std::string_view kPages[] = {"residentHoleBytes", "purgeableBytes", "trimmableBytes"};
  constexpr std::string_view kSizes[] = {"residentBytes"};
  const bool no_sizes = lacks(run, kLacksResidentSizes);
  const bool no_pages = no_sizes || lacks(run, kLacksResidentPages);
  const bool no_returned = no_pages || lacks(run, kLacksReturnedPages);
  return (no_returned && has_name(metric, kReturned)) || (no_pages && has_name(metric, kPages)) ||
         (no_sizes && has_name(metric, kSizes));
}

bool is_unknown(wire::Run::Reader typed_run, const MetricField& metric) {
  const DynamicStruct::Reader run = typed_run;
  if (lacks(typed_run, metric)) return true;
  const capnp::StructSchema::Field first = metric.path.front();
  if (metric.path.size() != 2 || !first.getType().isStruct() ||
      first.getType().asStruct() != capnp::Schema::from<wire::State>()) {
    return false;
  }
  return needs_holes(metric.path.back().getProto().getName().cStr()) && run.has(first) &&
         !run.get(first).as<DynamicStruct>().has("holes");
}

// A part of a report as in its text: a number that the text omits reads as 0. A report that was not
// read from a text omits nothing.
class TextPart {
 public:
  TextPart() = default;
  explicit TextPart(capnp::json::Value::Reader json) : json_(json) {}

  TextPart field(kj::StringPtr name) const {
    if (!json_ || !json_->isObject()) return {};
    for (const auto field : json_->getObject()) {
      if (field.getName() == name) return TextPart(field.getValue());
    }
    return {};
  }
  TextPart item(unsigned i) const {
    if (!json_ || !json_->isArray() || i >= json_->getArray().size()) return {};
    return TextPart(json_->getArray()[i]);
  }
  bool leaves_out(kj::StringPtr name) const { return json_.has_value() && !field(name).json_; }
  bool leaves_out(const MetricField& metric) const {
    TextPart part = *this;
    for (const auto field : metric.path) {
      const kj::StringPtr name = field.getProto().getName();
      if (part.leaves_out(name)) return true;
      part = part.field(name);
    }
    return false;
  }

 private:
  std::optional<capnp::json::Value::Reader> json_;
};

// Nothing if the report omits the number or a part that contains it, or if it is not finite.
std::optional<MetricValue> value_of(DynamicStruct::Reader part, const TextPart& text,
                                    const MetricField& metric) {
  if (text.leaves_out(metric)) return std::nullopt;
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

void add_latency(wire::Latency::Reader latency, const TextPart& text, RunFigures& figures) {
  std::string name = std::string(kLatencyPrefix) + text_of(latency.getOp()) + ".";
  if (latency.getSizes().size() != 0) name += text_of(latency.getSizes()) + ".";
  const DynamicStruct::Reader fields = latency;
  for (const std::string& field : latency_fields()) {
    if (text.leaves_out(field.c_str())) continue;
    figures.metrics.push_back({name + field, fields.get(field).as<uint64_t>()});
  }
}

void add_mark(wire::MarkState::Reader mark, const TextPart& text, RunFigures& figures) {
  if (mark.getName().size() == 0) return;  // not ours: no metric could have this name
  if (!mark.hasState()) return;            // its numbers would read as 0
  const std::string name = std::string(kMarkPrefix) + text_of(mark.getName()) + ".";
  const DynamicStruct::Reader state = mark.getState();
  const TextPart state_text = text.field("state");
  for (const MetricField& field : state_fields()) {
    if (!mark.getState().hasHoles() && needs_holes(field.name)) continue;
    if (const auto value = value_of(state, state_text, field)) {
      figures.metrics.push_back({name + field.name, *value});
    }
  }
}

// `list` and `texts` are the same list; `add` takes an item of each.
template <typename List, typename Add>
void add_each(const List& list, const TextPart& texts, Add add, RunFigures& figures) {
  for (unsigned i = 0; i < list.size(); ++i) add(list[i], texts.item(i), figures);
}

void add_losses(wire::Losses::Reader losses, const TextPart& text, RunFigures& figures) {
  for (const MetricField& metric : loss_fields()) {
    if (const auto value = value_of(losses, text, metric)) {
      figures.metrics.push_back({metric.name, *value});
    }
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

void add_pins(wire::Run::Reader run, RunFigures& figures) {
  const std::pair<const char*, wire::State::Reader> states[] = {{"atPeak", run.getAtPeak()},
                                                                {"atPlateau", run.getAtPlateau()},
                                                                {"atExit", run.getAtExit()},
                                                                {"end", run.getEnd()}};
  std::map<uint64_t, PinCohorts> by_call;
  for (const auto& [name, state] : states) {
    if (state.hasPins())
      by_call.try_emplace(state.getAt(), PinCohorts{{}, cohorts_of(state.getPins())});
    const auto found = by_call.find(state.getAt());
    if (found != by_call.end()) found->second.states.emplace_back(name);
  }
  for (auto& [call, pins] : by_call) figures.pins.push_back(std::move(pins));
}

RunFigures run_figures(wire::Run::Reader run, const TextPart& text) {
  RunFigures figures;
  figures.label = text_of(run.getLabel());
  figures.backend = text_of(run.getBackend());
  figures.threads = text_of(run.getThreads());
  figures.touch = text_of(run.getTouch());
  figures.clock = text_of(run.getClock());
  figures.incomparable = text_of(run.getIncomparable());
  if (run.hasFailure()) {
    const uint64_t event = run.getFailure().getEvent();
    figures.failure = (event == 0 ? "before the first call" : "at #" + base::grouped(event)) +
                      ": " + text_of(run.getFailure().getText());
  }
  for (const auto note : run.getNotes()) figures.notes.push_back(text_of(note));
  for (const MetricField& metric : run_fields()) {
    if (is_unknown(run, metric)) continue;
    if (const auto value = value_of(run, text, metric)) {
      figures.metrics.push_back({metric.name, *value});
    }
  }
  for (const auto counter : run.getCounters()) {
    figures.metrics.push_back(
        {std::string(kCounterPrefix) + text_of(counter.getName()), counter.getValue()});
  }
  add_each(run.getLatency(), text.field("latency"), add_latency, figures);
  add_each(run.getAtMarks(), text.field("atMarks"), add_mark, figures);
  for (const auto spread : run.getSpreads()) {
    figures.spreads.push_back(
        {text_of(spread.getMetric()), spread.getLeast(), spread.getGreatest()});
  }
  add_pins(run, figures);
  for (const auto curve : run.getGrowth().getCurves()) {
    if (curve.getGrows()) figures.growth_verdicts.push_back(text_of(curve.getVerdict()));
  }
  return figures;
}

ProcessFigures process_figures(wire::SampledProcess::Reader process) {
  ProcessFigures figures{process.getTimeNs(), process.getAnonymousBytes(), {}, {}, {}};
  if (!process.hasAnonymous()) return figures;
  const auto parts = process.getAnonymous();
  figures.malloc_bytes = std::min(parts.getMallocBytes(), figures.anonymous_bytes);
  uint64_t rest_bytes = figures.anonymous_bytes - *figures.malloc_bytes;
  if (parts.getStackBytes() != 0) {
    figures.stack_bytes = std::min(parts.getStackBytes(), rest_bytes);
    rest_bytes -= *figures.stack_bytes;
  }
  for (const auto owner : parts.getOwners()) {
    add_owner({owner.getOwner().begin(), owner.getOwner().size()}, owner.getBytes(), rest_bytes,
              figures.owners);
  }
  return figures;
}

void add_owners(const std::string& state, const ProcessFigures& process, RunFigures& figures) {
  for (const OwnedMemory& one : process.owners) {
    figures.metrics.push_back(
        {state + std::string(kOwnersInfix) + one.owner + std::string(kOwnerSuffix), one.bytes});
  }
}

// The state of a run at the moment "peak" is "atPeak"; empty for a moment that is not ours.
std::string state_at(const std::string& moment) {
  constexpr std::pair<const char*, const char*> kStates[] = {
      {"peak", "atPeak"}, {"plateau", "atPlateau"}, {"exit", "atExit"}, {"end", "end"}};
  constexpr std::string_view kMark = "mark:";
  for (const auto& [name, state] : kStates) {
    if (moment == name) return state;
  }
  if (!moment.starts_with(kMark) || moment.size() == kMark.size()) return "";
  return std::string(kMarkPrefix) + moment.substr(kMark.size());
}

// The same for all runs.
void add_owners(ReportFigures& figures) {
  for (RunFigures& run : figures.runs) {
    for (const MomentFigures& moment : figures.moments) {
      const std::string state = state_at(moment.name);
      if (moment.process && !state.empty()) add_owners(state, *moment.process, run);
    }
    if (figures.largest) add_owners("peak", *figures.largest, run);
  }
}

ReportFigures report_figures(wire::Report::Reader report, const TextPart& text) {
  ReportFigures figures;
  figures.tape_path = text_of(report.getTape().getPath());
  figures.tape_events = report.getTape().getEvents();
  figures.tape_command = text_of(report.getTape().getCommand());
  figures.tape_threads = report.getTape().getThreads();
  for (const auto inner : report.getTape().getInnerAllocators()) {
    std::vector<std::string> families;
    for (const auto family : inner.getFamilies()) families.push_back(text_of(family));
    figures.inner.push_back({text_of(inner.getFile()), std::move(families)});
    for (const auto remedy : inner.getRemedies()) {
      std::string one = text_of(remedy);
      if (std::ranges::find(figures.remedies, one) != figures.remedies.end()) continue;
      figures.remedies.push_back(std::move(one));
    }
  }
  const auto runs = report.getRuns();
  const TextPart run_texts = text.field("runs");
  const TextPart loss_text = text.field("tape").field("losses");
  for (unsigned i = 0; i < runs.size(); ++i) {
    figures.runs.push_back(run_figures(runs[i], run_texts.item(i)));
    if (!report.getTape().hasLosses()) continue;
    add_losses(report.getTape().getLosses(), loss_text, figures.runs.back());
  }
  for (const auto moment : report.getMoments()) {
    figures.moments.push_back({text_of(moment.getName()), moment.getAt(), moment.getTimeNs()});
    if (moment.hasProcess()) figures.moments.back().process = process_figures(moment.getProcess());
  }
  if (report.getTape().hasLargestSample()) {
    figures.largest = process_figures(report.getTape().getLargestSample());
  }
  add_owners(figures);
  if (report.getTape().hasSites()) figures.sites = figures_of(report.getTape().getSites());
  figures.verdict_run = text_of(report.getVerdict().getRun());
  const auto program = report.getProgram();
  if (program.hasLiveAtPeak() || program.hasLiveAtEnd()) {
    figures.cohorts = {cohorts_of(program.getLiveAtPeak()), cohorts_of(program.getLiveAtEnd())};
  }
  return figures;
}

SiteBytes bytes_of(wire::SiteStats::SiteTotals::Reader totals) {
  return {totals.getPeakBytes(), totals.getLiveBytes(), totals.getAskedBytes()};
}

SiteBytes errors_of(wire::SiteStats::SiteTotals::Reader totals) {
  if (!totals.hasStandardErrors()) return {};
  const auto errors = totals.getStandardErrors();
  return {errors.getPeakBytes(), errors.getLiveBytes(), errors.getAskedBytes()};
}

}  // namespace

RunFigures figures_of(wire::Run::Reader run) {
  return run_figures(run, {});
}

ReportFigures figures_of(wire::Report::Reader report) {
  return report_figures(report, {});
}

ReportFigures figures_of(const ParsedReport& report) {
  return report_figures(report.root(), TextPart(report.json()));
}

ReportFile::ReportFile(std::string path, std::shared_ptr<const ParsedReport> report)
    : path_(std::move(path)), report_(std::move(report)) {}

base::Result<ReportFile> ReportFile::read(const std::string& path) {
  HEAPTAPE_ASSIGN_OR_RETURN(ParsedReport report, read_report(path));
  return ReportFile(path, std::make_shared<const ParsedReport>(std::move(report)));
}

base::Result<ReportFigures> ReportFile::figures() const {
  return guard_kj(base::ErrorCode::kDamaged, "cannot read the numbers of " + base::quoted(path_),
                  [&]() -> base::Result<ReportFigures> { return figures_of(*report_); });
}

base::Result<ReportFigures> read_figures(const std::string& path) {
  HEAPTAPE_ASSIGN_OR_RETURN(const ReportFile report, ReportFile::read(path));
  return report.figures();
}

// Inside guard_kj, as report_figures.h requires of callers.
SiteFigures figures_of(wire::TapeSites::Reader sites) {
  SiteFigures figures{.total = bytes_of(sites.getTotal()),
                      .list = {},
                      .is_sampled = sites.hasSampling(),
                      .total_errors = errors_of(sites.getTotal())};
  for (const auto site : sites.getList()) {
    figures.list.push_back({text_of(site.getSite()), text_of(site.getFunction()),
                            text_of(site.getFile()), site.getLine(), text_of(site.getModule()),
                            bytes_of(site.getTotals()), errors_of(site.getTotals())});
  }
  return figures;
}

}  // namespace heaptape::schema
