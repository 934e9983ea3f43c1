#include "replayer/report/run_summary.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/number_text.h"
#include "replayer/answers/moment.h"
#include "replayer/text/metric_text.h"
#include "schema/tape/tape_info.h"

namespace heaptape::replayer {
namespace {

using schema::MetricUnit;
using schema::RunFigures;

// How much has to be beside malloc to be worth a sentence: so much, and this share.
constexpr uint64_t kNotedBytes = 1 << 20;
constexpr uint64_t kNotedShare = 5;

std::string time_text(const schema::MomentFigures& moment) {
  if (moment.time_ns == 0) return "";
  return base::format_text(", %.3f s", static_cast<double>(moment.time_ns) / 1e9);
}

// The program's memory then: equal in every run.
std::string live_text(const schema::ReportFigures& report, const schema::MomentFigures& moment) {
  const std::string state = state_of(moment.name);
  for (const RunFigures& run : report.runs) {
    const auto bytes = run.metric(state + ".liveBytes");
    if (!bytes) continue;
    return ": " + value_text(bytes, MetricUnit::kBytes) + " live in " +
           base::counted(std::get<uint64_t>(*run.metric(state + ".liveCount")), "block");
  }
  return "";
}

// The process around it, if its parts are known.
std::string process_line(const schema::MomentFigures& moment,
                         const std::vector<schema::InnerAllocator>& inner) {
  if (!moment.process || !moment.process->malloc_bytes) return "";
  const schema::ProcessFigures& process = *moment.process;
  const bool is_before = process.time_ns <= moment.time_ns;
  const uint64_t apart_ns =
      is_before ? moment.time_ns - process.time_ns : process.time_ns - moment.time_ns;
  std::string text = "  process";
  if (moment.time_ns != 0) {
    text += ", " + base::duration_text(static_cast<double>(apart_ns)) +
            (is_before ? " before" : " after");
  }
  return text + ": " +
         schema::memory_text(process.anonymous_bytes, process.malloc_bytes, process.stack_bytes,
                             process.owners, inner) +
         "\n";
}

uint64_t live_at_peak(const schema::ReportFigures& report) {
  uint64_t most = 0;
  for (const RunFigures& run : report.runs) {
    if (const auto live = run.metric("atPeak.liveBytes")) {
      most = std::max(most, static_cast<uint64_t>(schema::number_of(*live)));
    }
  }
  return most;
}

// The process that the verdict is about.
struct ToldProcess {
  schema::ProcessFigures figures;
  const char* moment;
};

// At the peak of live bytes, if its parts are known. Where malloc had far less than the program had
// live, the nearest sample is not of the peak.
//
// A program that hardly calls malloc has that peak at any time, often before it has any memory. If
// the process had twice as much at another time, malloc's peak matters less than the process's.
std::optional<ToldProcess> told_process(const schema::ReportFigures& report) {
  const auto peak = std::ranges::find(report.moments, "peak", &schema::MomentFigures::name);
  if (peak == report.moments.end() || !peak->process || !peak->process->malloc_bytes) return {};
  const uint64_t live = live_at_peak(report);
  const bool is_of_peak = *peak->process->malloc_bytes >= live / 2;
  const uint64_t at_peak = std::max(live, is_of_peak ? peak->process->anonymous_bytes : 0);
  const auto& largest = report.largest;
  if (largest && largest->malloc_bytes && largest->anonymous_bytes / 2 >= at_peak) {
    return ToldProcess{*largest, "the peak of the process"};
  }
  if (!is_of_peak) return {};
  return ToldProcess{*peak->process, "the peak"};
}

uint64_t beside_bytes(const schema::ProcessFigures& process) {
  return process.anonymous_bytes - process.malloc_bytes.value_or(process.anonymous_bytes);
}

// ", 22.0 MiB of it libarrow's", if that is at least half.
std::string main_owner_text(const schema::ProcessFigures& process) {
  const auto& owners = process.owners;
  const auto most = std::ranges::max_element(owners, {}, &schema::OwnedMemory::bytes);
  if (most == owners.end() || most->bytes < beside_bytes(process) - most->bytes) return "";
  const std::string bytes = ", " + base::bytes_text(most->bytes) + " of it ";
  if (most->owner == schema::kDataOwner) return bytes + "variables of programs and libraries";
  return bytes + most->owner + "'s";
}

}  // namespace

std::string state_of(const std::string& moment) {
  if (moment.starts_with(kMarkPrefix)) {
    return std::string(schema::kMarkPrefix) + moment.substr(kMarkPrefix.size());
  }
  if (moment == "end") return moment;
  std::string state = "at" + moment;
  state[2] = static_cast<char>(state[2] - 'a' + 'A');
  return state;
}

std::string second_state(const std::vector<RunFigures>& runs) {
  const bool has_plateau = std::ranges::any_of(
      runs, [](const RunFigures& run) { return run.metric("atPlateau.liveBytes").has_value(); });
  return has_plateau ? "atPlateau" : "atExit";
}

std::string moment_lines(const schema::ReportFigures& report) {
  std::string text;
  for (size_t i = 0; i < report.moments.size(); ++i) {
    const schema::MomentFigures& moment = report.moments[i];
    text += moment.name;
    // Several may coincide, for example if a run frees nothing at its end.
    if (i + 1 < report.moments.size() && report.moments[i + 1].at == moment.at &&
        report.moments[i + 1].time_ns == moment.time_ns) {
      text += ", ";
      continue;
    }
    text += ": #" + base::grouped(moment.at) + time_text(moment) + live_text(report, moment) +
            "\n" + process_line(moment, report.inner);
  }
  return text;
}

bool malloc_has_less_than_half(const schema::ReportFigures& report) {
  const auto told = told_process(report);
  return told &&
         beside_bytes(told->figures) > std::max(*told->figures.malloc_bytes, kNotedBytes - 1);
}

std::string beside_malloc(const schema::ReportFigures& report) {
  const auto told = told_process(report);
  if (!told) return "";
  const uint64_t all = told->figures.anonymous_bytes;
  const uint64_t beside = beside_bytes(told->figures);
  if (beside < std::max(kNotedBytes, all / kNotedShare)) return "";
  return std::string("at ") + told->moment + ", " + base::bytes_text(beside) + " of " +
         base::bytes_text(all) + " anonymous memory (" + share_text(beside, all) +
         ") is beside malloc" + main_owner_text(told->figures) +
         ": another allocator cannot change that";
}

uint64_t bytes_beside_malloc(const schema::ReportFigures& report) {
  const auto told = told_process(report);
  return told ? beside_bytes(told->figures) : 0;
}

std::vector<std::string> remedies(const schema::ReportFigures& report) {
  constexpr size_t kMost = 4;
  if (beside_malloc(report).empty()) return {};
  std::vector<std::string> some = report.remedies;
  if (some.size() > kMost) some.resize(kMost);
  return some;
}

}  // namespace heaptape::replayer
