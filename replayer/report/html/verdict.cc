#include "replayer/report/html/verdict.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/number_text.h"
#include "replayer/report/metric_text.h"

namespace heaptape::replayer {
namespace {

using schema::MetricUnit;
using schema::RunFigures;

// "at the peak" of "atPeak".
std::string when(const std::string& state) {
  const std::string group = heading_of(state + ".").group;  // "at peak"
  return group.starts_with("at ") ? "at the " + group.substr(3) : group;
}

std::string bytes(const RunFigures& run, const std::string& metric) {
  return value_text(run.metric(metric), MetricUnit::kBytes);
}

uint64_t number(const RunFigures& run, const std::string& metric) {
  const auto value = run.metric(metric);
  return value && schema::is_integer(*value) ? std::get<uint64_t>(*value) : 0;
}

std::string text_of(const BestRun& best) {
  return when(best.state) + " (" + best.resident + "; next is " + best.next_label + " with " +
         best.next_resident + ")";
}

// `noop` has no memory.
bool has_memory(const RunFigures& run) {
  return run.failure.empty() && number(run, "peak.committedBytes") != 0;
}

// The one whose account is told: the best at the second state, else the last that has memory.
const RunFigures* told_run(const schema::ReportFigures& report, const std::vector<BestRun>& best) {
  const RunFigures* told = nullptr;
  for (const RunFigures& run : report.runs) {
    if (has_memory(run)) told = &run;
  }
  if (best.empty()) return told;
  const auto found = std::ranges::find(report.runs, best.back().label, &RunFigures::label);
  return found == report.runs.end() ? told : &*found;
}

}  // namespace

std::string verdict(const schema::ReportFigures& report, const std::vector<BestRun>& best) {
  if (!best.empty()) {
    std::string text = best[0].label + " holds least resident memory " + text_of(best[0]);
    if (best.size() < 2) return text + ".";
    const bool is_same = best[0].label == best[1].label;
    return text + (is_same ? ", and " : "; " + best[1].label + " ") + text_of(best[1]) + ".";
  }
  const RunFigures* const run = told_run(report, best);
  if (run == nullptr) return "No run with memory of its own came to the end of the tape.";
  return run->label + " holds " + bytes(*run, "peak.committedBytes") +
         " committed at its peak, for " + bytes(*run, "peak.liveBytes") +
         " that the program had live at most.";
}

std::string where_it_is(const schema::ReportFigures& report, const std::vector<BestRun>& best) {
  const RunFigures* const run = told_run(report, best);
  if (run == nullptr) return "";
  const std::string state = second_state(report.runs);
  if (!run->metric(state + ".account.holeBytes")) return "";
  constexpr std::pair<const char*, const char*> kParts[] = {
      {"liveBytes", "live"},
      {"slackBytes", "slack within blocks"},
      {"account.metadataBytes", "the allocator's own"},
      {"account.cachedBytes", "cached for reuse"},
      {"account.holeBytes", "holes between blocks"},
      {"account.topBytes", "free at the ends of regions"}};
  uint64_t whole = 0;
  for (const auto& [metric, words] : kParts) whole += number(*run, state + "." + metric);
  std::string text;
  for (const auto& [metric, words] : kParts) {
    const uint64_t part = number(*run, state + "." + metric);
    if (part == 0) continue;
    text += (text.empty() ? "" : ", ") + share_text(part, whole) + " " + words;
  }
  std::string returned = bytes(*run, state + ".account.returnedBytes");
  returned = number(*run, state + ".account.returnedBytes") == 0
                 ? ""
                 : "; " + returned + " more are given back";
  return "Of the " + base::bytes_text(whole) + " that " + run->label + " keeps " + when(state) +
         ": " + text + returned + ".";
}

std::string who_has_it(const SiteTable& table, const Sites& sites) {
  const SiteRow* most = nullptr;
  for (const SiteRow& row : table.rows) {
    const bool is_known = sites.list()[row.site].place != nullptr && row.totals.peak_bytes != 0;
    if (!is_known) continue;
    if (most == nullptr || row.totals.peak_bytes > most->totals.peak_bytes) most = &row;
  }
  if (most == nullptr) return "";
  const uint64_t live =
      table.sampled ? table.sampled->whole_tape.peak_bytes : table.total.peak_bytes;
  return "Of the " + base::bytes_text(live) + " live at the peak, " +
         (table.sampled ? "an estimated " : "") +
         share_text(most->totals.peak_bytes, table.total.peak_bytes) + " were asked for by " +
         sites.short_text(most->site) + ".";
}

}  // namespace heaptape::replayer
