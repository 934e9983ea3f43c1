#include "replayer/report/run_verdict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocators/catalog/allocator_family.h"
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

bool has_settings(const allocators::BackendSpec& spec) {
  return !spec.environment.empty() || !spec.given.empty();
}

// FAMILY@VERSION is there to be compared with the recorded one.
bool is_as_recorded(const RunResult& run, const std::string& family) {
  const bool is_another = has_settings(run.spec) || run.spec.text.find('@') != std::string::npos;
  return !family.empty() && run.spec.family() == family &&
         (!is_another || (!has_settings(run.spec) && is_faithful(run).value_or(false)));
}

// With actions (--do), a replay is not as the program ran.
RunRole role_of(const RunResult& run, const std::string& family) {
  if (run.spec.kind == BackendKind::kRecorded) return RunRole::kRecorded;
  if (!is_as_recorded(run, family) || !run.metrics.actions.empty()) return RunRole::kCandidate;
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

// The rest of what the clock has purged may still be there, by chance: at most all that is not.
uint64_t error_bytes(const RunResult& run, const Account& account, double share) {
  constexpr uint64_t kByChance = 4;
  if (run.spec.kind == BackendKind::kRecorded) return 0;
  const uint64_t purged = purges_at_once(run.spec) ? 0
                                                   : std::min(purged_bytes(run.metrics.counters),
                                                              account.returned_bytes);
  return static_cast<uint64_t>(share * static_cast<double>(account.resident_bytes)) +
         purged / kByChance;
}

// The recorded run was sampled at times. A sample near the moment says how much of large blocks was
// never touched. If more than all live blocks is missing, the heap was another one by then.
void note_untouched(const schema::ProcessFigures* process, Account& account) {
  constexpr uint64_t kNotedBytes = 1 << 20;
  if (process == nullptr || !process->malloc_bytes) return;
  const uint64_t sum = account.live_bytes + account.slack_bytes + account.metadata_bytes +
                       account.cached_bytes + account.hole_bytes + account.top_bytes;
  if (sum < *process->malloc_bytes + kNotedBytes) return;
  const uint64_t missing = sum - *process->malloc_bytes;
  if (missing <= account.live_bytes) account.untouched_bytes = missing;
}

std::vector<JudgedState> states_of(const RunResult& run, double share,
                                   const schema::ReportFigures& report) {
  std::vector<JudgedState> states;
  for (const MomentState& state : run.metrics.moments) {
    const std::string& name = state.moment.name;
    const bool is_compared = name == "peak" || name == "plateau" || name == "exit";
    if (!is_compared || !state.account) continue;
    JudgedState judged{.moment = name, .at = state.snapshot.at, .account = *state.account};
    // As elsewhere: live and slack follow the requests.
    judged.account.live_bytes = state.snapshot.live.live_bytes;
    judged.account.slack_bytes = state.snapshot.slack_bytes();
    judged.error_bytes = error_bytes(run, judged.account, share);
    judged.pins = state.culprit;
    if (run.spec.kind == BackendKind::kRecorded) {
      note_untouched(report.process_near(name), judged.account);
    }
    states.push_back(std::move(judged));
  }
  return states;
}

Allocator allocator_of(const RunResult& run) {
  const allocators::BackendSpec& spec = run.spec;
  Allocator allocator{.label = base::display_text(spec.label),
                      .spec = spec.text,
                      .family = spec.family(),
                      .library = spec.family() == "glibc" ? "" : run.library};
  for (const std::string& variable : spec.environment) {
    allocator.spec += " " + variable;
    allocator.settings += (allocator.settings.empty() ? "" : " ") + variable;
  }
  if (!spec.given.empty()) allocator.settings = spec.text;
  return allocator;
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
           const BackendKind kind = other.spec.kind;
           return (kind == BackendKind::kNative || kind == BackendKind::kPlugin) && !other.failure;
         }) < 2;
}

// `live`: bytes by site; `all`: also those of no site.
void name_most(std::vector<uint64_t> live, uint64_t all, const Sites& sites, Verdict& verdict) {
  for (size_t site = 0; site < live.size(); ++site) {
    if (sites.list()[site].place == nullptr) live[site] = 0;  // unknown or hidden
  }
  const auto most = std::ranges::max_element(live);
  if (most == live.end() || *most == 0) return;
  for (Finding& finding : verdict.findings) {
    if (finding.kind != FindingKind::kLive) continue;
    finding.site = sites.short_text(static_cast<uint32_t>(most - live.begin()));
    finding.site_share = ratio(*most, all);
  }
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

Verdict judge_runs(const schema::TapeHeader& tape, const schema::ReportFigures& report,
                   const std::vector<RunResult>& runs, const ReplayOptions& options) {
  const std::string family = allocators::allocator_family(tape);
  std::optional<bool> faithful;
  for (const RunResult& run : runs) {
    if (!run.failure && is_as_recorded(run, family)) faithful = is_faithful(run);
    if (faithful) break;
  }
  const double share = error_share(report.tape_threads, faithful);
  const bool is_touched = options.touch != allocators::Touch::kNone;
  std::vector<JudgedRun> judged;
  for (const RunResult& run : runs) {
    if (!is_judged(run) || (run.spec.runs_real_code() && !is_touched)) continue;
    const RunRole role = role_of(run, family);
    if (role == RunRole::kCandidate && !is_choice(run, runs)) continue;
    judged.push_back({allocator_of(run), role, states_of(run, share, report)});
  }
  // Actions are of some runs and moments, so the runs are not alike.
  const Compare compare = options.actions.empty() ? Compare::kYes : Compare::kNo;
  Verdict verdict = judge(beside_of(report), judged, compare);
  verdict.can_be_recorded = tape.origin.format.empty();
  verdict.error_share = share;
  // The same for all runs that reached the end of the tape.
  const auto whole = std::ranges::find_if(runs, [](const RunResult& run) {
    return !run.failure && run.metrics.accounting.refused == 0;
  });
  if (whole != runs.end() && options.until >= report.tape_events) {
    verdict.end_live_bytes = whole->metrics.end.live.live_bytes;
  }
  return verdict;
}

std::vector<uint64_t> calls_of(const Verdict& verdict) {
  std::vector<uint64_t> calls;
  for (const Finding& finding : verdict.findings) {
    if (finding.pins) {
      calls.insert(calls.end(), finding.pins->births.begin(), finding.pins->births.end());
    }
  }
  return calls;
}

void name_sites(const CallSites& calls, Verdict& verdict) {
  for (Finding& finding : verdict.findings) {
    if (!finding.pins) continue;
    std::map<uint32_t, double> blocks;  // by site
    double all = 0;
    for (const uint64_t birth : finding.pins->births) {
      const double weight = calls.weight_of(birth);
      all += weight;
      const uint32_t site = calls.of_call(birth);
      if (calls.sites().list()[site].place != nullptr) blocks[site] += weight;
    }
    const auto most =
        std::ranges::max_element(blocks, {}, [](const auto& of_site) { return of_site.second; });
    if (most == blocks.end() || most->second == 0) continue;
    finding.site = calls.sites().short_text(most->first);
    finding.site_share = most->second / all;
  }
}

void name_live(const StackProfile& profile, const Sites& sites, Verdict& verdict) {
  std::vector<uint64_t> live(sites.list().size());
  uint64_t all = 0;
  profile.for_each([&](schema::FrameNumber stack, const StackTotals& totals) {
    live[sites.of_stack(stack)] += totals.live_bytes;
    all += totals.live_bytes;
  });
  name_most(std::move(live), all, sites, verdict);
}

bool name_live(const SiteTable& table, uint64_t calls, const Sites& sites, Verdict& verdict) {
  if (verdict.at != table.peak_at && verdict.at != calls) return false;
  const StackValue value = verdict.at == calls ? StackValue::kEnd : StackValue::kPeak;
  std::vector<uint64_t> live(sites.list().size());
  for (const SiteRow& row : table.rows) live[row.site] = value_of(row.totals, value);
  name_most(std::move(live), value_of(table.total, value), sites, verdict);
  return true;
}

}  // namespace heaptape::replayer
