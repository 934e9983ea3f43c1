#include "replayer/report/run_verdict.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/display_text.h"
#include "replayer/engine/run_notes.h"
#include "replayer/report/run_summary.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using allocators::BackendKind;

constexpr double kFaithfulShare = 0.99;  // of blocks at their recorded offset

// Whether a replay on the recorded allocator put the blocks where they were; nothing if no run says
// so.
std::optional<bool> is_faithful(const RunResult& run) {
  if (!run.metrics.incomparable.empty() || run.metrics.compared_blocks == 0) return std::nullopt;
  return run.metrics.same_offset_share >= kFaithfulShare;
}

bool imitates_an_allocator(const allocators::BackendSpec& spec) {
  return spec.kind == BackendKind::kNative || spec.kind == BackendKind::kPlugin ||
         (spec.kind == BackendKind::kModel && !spec.imitates_nobody());
}

bool is_as_recorded(const RunResult& run, const std::string& family) {
  const bool has_settings = !run.spec.environment.empty() || !run.spec.given.empty();
  return !has_settings && !family.empty() && run.spec.family() == family;
}

RunRole role_of(const RunResult& run, const std::string& family) {
  if (run.spec.kind == BackendKind::kRecorded) return RunRole::kRecorded;
  if (!is_as_recorded(run, family)) return RunRole::kCandidate;
  return is_faithful(run).value_or(false) ? RunRole::kFaithful : RunRole::kSame;
}

// docs/prediction-table.md: nearly all figures of programs with one thread, or whose blocks a
// replay on the same allocator puts where they were, are within 3 %, and those of other programs
// with threads within 6 %, unless threads race for the same blocks: 20 %. Up to a quarter of what
// jemalloc purges as time passes is purged by chance.
double error_share(uint64_t threads, std::optional<bool> faithful) {
  if (threads <= 1 || faithful.value_or(false)) return 0.03;
  return faithful ? 0.20 : 0.06;
}

PredictionError error_of(const RunResult& run, double share) {
  constexpr uint64_t kByChance = 4;
  const bool is_recorded = run.spec.kind == BackendKind::kRecorded;
  return {is_recorded ? 0 : share, purged_bytes(run.metrics.counters) / kByChance};
}

std::vector<JudgedState> states_of(const RunResult& run) {
  std::vector<JudgedState> states;
  for (const MomentState& state : run.metrics.moments) {
    const std::string& name = state.moment.name;
    const bool is_compared = name == "peak" || name == "plateau" || name == "exit";
    if (!is_compared || !state.account) continue;
    states.push_back({name, state.snapshot.at, *state.account, state.pinned_by});
    // As elsewhere: live and slack follow the requests.
    JudgedState& judged = states.back();
    judged.account.live_bytes = state.snapshot.live.live_bytes;
    judged.account.slack_bytes = state.snapshot.slack_bytes();
  }
  return states;
}

// Whether its figures may be compared: blocks have places, and memory that is not there is known.
bool is_judged(const RunResult& run) {
  if (run.failure || run.metrics.accounting.refused != 0) return false;
  if (run.spec.kind == BackendKind::kRecorded) {
    return run.metrics.known_resident <= KnownResident::kHoles;
  }
  return imitates_an_allocator(run.spec);
}

// A model beside real allocators is no candidate of its own.
bool is_choice(const RunResult& run, const std::vector<RunResult>& runs) {
  if (run.spec.kind != BackendKind::kModel) return true;
  return std::ranges::count_if(runs, [](const RunResult& other) {
           return other.spec.kind == BackendKind::kNative && !other.failure;
         }) < 2;
}

BesideMalloc beside_of(const schema::ReportFigures& report) {
  BesideMalloc beside;
  beside.text = beside_malloc(report);
  if (beside.text.empty()) return beside;
  beside.bytes = bytes_beside_malloc(report);
  beside.remedies = remedies(report);
  beside.is_most = malloc_has_less_than_half(report);
  return beside;
}

}  // namespace

Verdict judge_runs(const std::string& family, const schema::ReportFigures& report,
                   const std::vector<RunResult>& runs) {
  std::optional<bool> faithful;
  for (const RunResult& run : runs) {
    if (!run.failure && is_as_recorded(run, family)) faithful = is_faithful(run);
    if (faithful) break;
  }
  const double share = error_share(report.tape_threads, faithful);
  std::vector<JudgedRun> judged;
  for (const RunResult& run : runs) {
    if (!is_judged(run)) continue;
    const RunRole role = role_of(run, family);
    if (role == RunRole::kCandidate && !is_choice(run, runs)) continue;
    judged.push_back({.label = base::display_text(run.spec.label),
                      .family = run.spec.family(),
                      .library = run.spec.family() == "glibc" ? "" : run.library,
                      .role = role,
                      .error = error_of(run, share),
                      .states = states_of(run)});
  }
  return judge(beside_of(report), judged);
}

std::vector<uint64_t> calls_of(const Verdict& verdict) {
  std::vector<uint64_t> calls;
  for (const Finding& finding : verdict.findings) {
    calls.insert(calls.end(), finding.pins.births.begin(), finding.pins.births.end());
  }
  return calls;
}

void name_sites(const CallSites& calls, Verdict& verdict) {
  for (Finding& finding : verdict.findings) {
    std::map<uint32_t, double> blocks;  // by site
    for (const uint64_t birth : finding.pins.births) {
      blocks[calls.of_call(birth)] += calls.weight_of(birth);
    }
    const auto most =
        std::ranges::max_element(blocks, {}, [](const auto& of_site) { return of_site.second; });
    if (most == blocks.end() || most->second == 0) continue;
    finding.site = calls.sites().short_text(most->first);
  }
}

void name_live(const SiteTable& table, const Sites& sites, Verdict& verdict) {
  if (verdict.moment != "peak") return;
  const SiteRow* most = nullptr;
  for (const SiteRow& row : table.rows) {
    const bool is_known = sites.list()[row.site].place != nullptr && row.totals.peak_bytes != 0;
    if (!is_known) continue;
    if (most == nullptr || row.totals.peak_bytes > most->totals.peak_bytes) most = &row;
  }
  if (most == nullptr) return;
  for (Finding& finding : verdict.findings) {
    if (finding.kind != FindingKind::kLive) continue;
    finding.site = sites.short_text(most->site);
    finding.site_share = ratio(most->totals.peak_bytes, table.total.peak_bytes);
  }
}

std::string verdict_text(const Verdict& verdict, const std::string& tape_path) {
  const std::string tape = base::display_text(tape_path);
  std::string text = headline(verdict) + "\n";
  size_t number = 0;
  for (const Finding& finding : verdict.findings) {
    text += "  " + std::to_string(++number) + ". " + evidence(verdict, finding) + "\n";
    const std::string todo = action(verdict, finding, tape);
    if (!todo.empty()) text += "     " + todo + "\n";
  }
  return text;
}

}  // namespace heaptape::replayer
