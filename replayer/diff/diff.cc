#include "replayer/diff/diff.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/display_text.h"
#include "base/name_list.h"
#include "base/near_names.h"
#include "base/number_text.h"
#include "replayer/diff/gate.h"

namespace heaptape::replayer {
namespace {

using base::Error;
using base::quoted;
using base::Result;
using base::Status;
using schema::ReportFigures;
using schema::RunFigures;

// The metrics in a table, in order.
constexpr const char* kHeadlines[] = {
    "peak.liveBytes",          "peak.usableBytes",     "peak.committedBytes",
    "end.committedBytes",      "peak.residentBytes",   "atPeak.residentBytes",
    "atPlateau.residentBytes", "atExit.residentBytes", "atPlateau.residentHoleBytes",
    "peak.holes.count",        "peak.holes.bytes",     "peak.holes.largest",
    "peak.fragmentation",      "peak.distanceToIdeal", "end.fragmentation",
    "accounting.refused",      "time.nsPerEvent",
};

const RunFigures* find_run(const NamedReport& report, const std::string& label) {
  const auto& runs = report.figures.runs;
  const auto found = std::ranges::find(runs, label, &RunFigures::label);
  return found == runs.end() ? nullptr : &*found;
}

// "'glibc', 'jemalloc'"
std::string labels_of(const NamedReport& report) {
  if (report.figures.runs.empty()) return "no runs";
  return base::name_list(report.figures.runs,
                         [](const RunFigures& run) { return quoted(run.label); });
}

Status check_labels(const NamedReport& report) {
  std::set<std::string> seen;
  for (const RunFigures& run : report.figures.runs) {
    if (seen.insert(run.label).second) continue;
    return Error::usage(quoted(report.path) + " has two runs labeled " + quoted(run.label) +
                        ": replay with a label for each, -a LABEL=ALLOCATOR");
  }
  return {};
}

Error no_such_run(const NamedReport& side, const std::string& label) {
  std::vector<std::string> labels;
  for (const RunFigures& run : side.figures.runs) labels.push_back(run.label);
  return Error::usage(quoted(side.path) + " has no run labeled " + quoted(label) +
                      base::did_you_mean(label, labels) + "; it has " + labels_of(side));
}

Result<std::vector<RunPair>> only_pair(const NamedReport& base, const NamedReport& now,
                                       const std::string& label) {
  for (const NamedReport* side : {&base, &now}) {
    if (find_run(*side, label) == nullptr) return no_such_run(*side, label);
  }
  return std::vector<RunPair>{{find_run(base, label), find_run(now, label)}};
}

Result<std::vector<RunPair>> matched_pairs(const NamedReport& base, const NamedReport& now) {
  std::vector<RunPair> pairs;
  for (const RunFigures& run : now.figures.runs) {
    if (const RunFigures* before = find_run(base, run.label)) pairs.emplace_back(before, &run);
  }
  if (!pairs.empty()) return pairs;
  return Error::usage("no run of " + quoted(base.path) + " has the same label as a run of " +
                      quoted(now.path) + ": the first has " + labels_of(base) + ", the second " +
                      labels_of(now) + "; replay with the same labels, -a LABEL=ALLOCATOR");
}

// Pairs every run of the new report with one of the base.
Result<std::vector<RunPair>> baseline_pairs(const NamedReport& base, const NamedReport& now,
                                            const std::string& only_run,
                                            const std::string& baseline) {
  const RunFigures* const from = find_run(base, baseline);
  if (from == nullptr) return no_such_run(base, baseline);
  if (!only_run.empty() && find_run(now, only_run) == nullptr) return no_such_run(now, only_run);
  std::vector<RunPair> pairs;
  for (const RunFigures& run : now.figures.runs) {
    const bool is_itself = base.path == now.path && run.label == baseline;
    if (is_itself || (!only_run.empty() && run.label != only_run)) continue;
    pairs.emplace_back(from, &run);
  }
  if (!pairs.empty()) return pairs;
  return Error::usage(quoted(now.path) + " has no run to compare with " + quoted(baseline) +
                      "; it has " + labels_of(now));
}

void note_lone_runs(const NamedReport& side, const NamedReport& other,
                    std::vector<std::string>& notes) {
  for (const RunFigures& run : side.figures.runs) {
    if (find_run(other, run.label) != nullptr) continue;
    notes.push_back("run " + quoted(run.label) + " is only in " + quoted(side.path) +
                    " and was not compared" +
                    (run.failure.empty() ? "" : "; it failed " + run.failure));
  }
}

void note_other_tape(const ReportFigures& base, const ReportFigures& now,
                     std::vector<std::string>& notes) {
  if (base.tape_events == now.tape_events) return;
  notes.push_back("the tapes differ: " + base::counted(base.tape_events, "event") + " in base, " +
                  base::grouped(now.tape_events) +
                  " in new; a change may come from the program rather than its allocator");
}

// "server --flags" for "/opt/branch/server --flags".
std::string command_without_folder(const std::string& command) {
  const size_t end = std::min(command.find(' '), command.size());
  const size_t slash = command.rfind('/', end);
  return slash == command.npos || slash > end ? command : command.substr(slash + 1);
}

// Two recordings are of one program if its names are equal, and either the arguments are equal or
// both runs are about equally long.
bool are_of_one_program(const ReportFigures& base, const ReportFigures& now) {
  if (base.tape_command.empty() || now.tape_command.empty()) return true;
  const std::string before = command_without_folder(base.tape_command);
  const std::string after = command_without_folder(now.tape_command);
  if (before == after) return true;
  if (before.substr(0, before.find(' ')) != after.substr(0, after.find(' '))) return false;
  const auto [less, more] = std::minmax(base.tape_events, now.tape_events);
  return more / 2 <= less;
}

// Memory that went to an allocator which only one of the tapes does not see.
std::string unseen_text(const ReportFigures& base, const ReportFigures& now) {
  const auto only_in = [](const ReportFigures& one, const ReportFigures& other) {
    for (const schema::InnerAllocator& inner : one.inner) {
      if (std::ranges::find(other.inner, inner) != other.inner.end()) continue;
      return schema::heaps_text(inner.families) + " inside " + base::quoted(inner.file);
    }
    return std::string();
  };
  std::string text;
  const auto add = [&text](const char* side, const std::string& inner) {
    if (inner.empty()) return;
    text += (text.empty() ? "" : "; ") + std::string("only the ") + side + " tape lacks calls to " +
            inner + ", so its figures may be lower than the other's";
  };
  add("new", only_in(now, base));
  add("base", only_in(base, now));
  return text;
}

std::string unrelated_text(const ReportFigures& base, const ReportFigures& now) {
  if (are_of_one_program(base, now)) return unseen_text(base, now);
  const auto side = [](const ReportFigures& report) {
    return quoted(report.tape_command) + ", " + base::counted(report.tape_events, "event");
  };
  return "these reports are of different programs (base: " + side(base) + "; new: " + side(now) +
         "): the differences say nothing about the allocators";
}

void note_other_setting(const char* what, const std::string& base, const std::string& now,
                        std::vector<std::string>& notes) {
  if (base == now) return;
  notes.push_back(std::string(what) + " differs: " + quoted(base) + " in base, " + quoted(now) +
                  " in new");
}

// They used --from or --to differently.
void note_other_range(const std::vector<RunPair>& pairs, std::vector<std::string>& notes) {
  for (const auto& [base, now] : pairs) {
    if (!base->metric("accounting.recorded") || !now->metric("accounting.recorded")) continue;
    const auto count = [](const RunFigures& run, const char* name) {
      return static_cast<uint64_t>(schema::number_of(run.metric(name).value_or(uint64_t{0})));
    };
    const auto note = [&notes](const char* what, uint64_t in_base, uint64_t in_new) {
      if (in_base == in_new) return;
      notes.push_back(std::string("the replays ") + what + " at different calls: #" +
                      base::grouped(in_base) + " in base, #" + base::grouped(in_new) + " in new");
    };
    const uint64_t base_before = count(*base, "accounting.before");
    const uint64_t now_before = count(*now, "accounting.before");
    note("begin", base_before + 1, now_before + 1);
    note("end", base_before + count(*base, "accounting.recorded"),
         now_before + count(*now, "accounting.recorded"));
    return;
  }
}

// Notes nothing if both lack them.
void note_one_sided_sites(const ReportFigures& base, const ReportFigures& now,
                          std::vector<std::string>& notes) {
  if (base.sites.has_value() == now.sites.has_value()) return;
  notes.push_back(std::string("only ") + (base.sites ? "base" : "new") +
                  " has call sites: replay two tapes recorded with --stacks to see which sites "
                  "account for a change");
}

void note_estimated_sites(const schema::SiteFigures& base, const schema::SiteFigures& now,
                          std::vector<std::string>& notes) {
  if (!base.is_sampled && !now.is_sampled) return;
  const char* const whose = !now.is_sampled ? "of base " : !base.is_sampled ? "of new " : "";
  notes.push_back(std::string("the call sites ") + whose +
                  "are estimates: not all calls had their stacks recorded");
}

// Equal labels should have equal settings; different labels compare settings.
RunDiff diff_runs(const RunPair& pair, const std::vector<Gate>& gates, const NamedReport& before,
                  const NamedReport& after) {
  const auto* const base = pair.first;
  const auto* const now = pair.second;
  RunDiff diff;
  diff.label = now->label;
  diff.base_label = base->label;
  if (base->label == now->label) {
    note_other_setting("backend", base->backend, now->backend, diff.notes);
    note_other_setting("threads", base->threads, now->threads, diff.notes);
    note_other_setting("touch", base->touch, now->touch, diff.notes);
    note_other_setting("clock", base->clock, now->clock, diff.notes);
  } else {
    diff.notes.push_back("compared with run " + quoted(base->label) + " of the base");
  }
  if (!base->failure.empty()) diff.notes.push_back("the base run failed " + base->failure);
  if (!now->failure.empty()) diff.notes.push_back("the new run failed " + now->failure);
  diff.pins = diff_pins(base->pins, now->pins);
  for (CohortChanges& pins : diff.pins) {
    if (!before.stacks || !after.stacks) break;
    pins.sites = diff_pinning_sites(*before.stacks, base->label, *after.stacks, now->label,
                                    pins.states.front());
  }
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    const auto before = base->metric(name);
    const auto after = now->metric(name);
    if ((!before && !after) || !seen.insert(name).second) return;
    diff.rows.push_back(
        {name, schema::metric_unit(name), before, after, base->spread(name), now->spread(name)});
  };
  for (const char* name : kHeadlines) add(name);
  for (const Gate& gate : gates) add(gate.metric);
  diff.table_rows = diff.rows.size();
  for (const RunFigures* run : {now, base}) {
    for (const schema::Metric& metric : run->metrics) add(metric.name);
  }
  return diff;
}

void compare_sites(const ReportFigures& base, const ReportFigures& now, ReportDiff& diff) {
  note_one_sided_sites(base, now, diff.notes);
  if (!base.sites || !now.sites) return;
  note_estimated_sites(*base.sites, *now.sites, diff.notes);
  const std::string module = module_known_once(*base.sites, *now.sites);
  if (module.empty()) {
    diff.sites = diff_sites(*base.sites, *now.sites);
  } else {
    diff.notes.push_back("only one report has function names for " + quoted(module) +
                         ", so call sites are not compared: replay a tape, or `heaptape "
                         "symbolize` it, while its program is still present and unchanged");
  }
}

// The arguments are those of diff_reports().
size_t count_new_failures(const NamedReport& base, const NamedReport& now,
                          const std::string& only_run, const std::string& baseline) {
  const bool is_same_report = base.path == now.path;
  const auto has_newly_failed = [&](const RunFigures& run) {
    if (run.failure.empty() || (!only_run.empty() && run.label != only_run)) return false;
    const RunFigures* const before =
        find_run(base, baseline.empty() || is_same_report ? run.label : baseline);
    return before == nullptr || before->failure.empty();
  };
  return static_cast<size_t>(std::ranges::count_if(now.figures.runs, has_newly_failed));
}

ReportDiff::Side side_of(const NamedReport& report) {
  return {base::display_text(report.path), report.figures.tape_path, report.figures.tape_events};
}

}  // namespace

std::string ReportDiff::verdict() const {
  const std::string compared = base::counted(runs.size(), "run") + " compared";
  if (new_failures != 0 && gates.empty()) {
    return "FAIL: " + base::counted(new_failures, "run") + " failed, " + compared;
  }
  if (gates.empty()) return compared + "; no gates were given, so nothing was checked";
  const auto failures =
      static_cast<size_t>(std::ranges::count(gates, GateState::kFailed, &GateOutcome::state));
  const auto skipped =
      static_cast<size_t>(std::ranges::count(gates, GateState::kSkipped, &GateOutcome::state));
  const std::string checks = base::counted(gates.size() - skipped, "gate check");
  if (failures == 0 && new_failures != 0) {
    return "FAIL: " + base::counted(new_failures, "run") + " failed, " + compared;
  }
  if (failures == 0) return "PASS: " + checks + " passed, " + compared;
  return "FAIL: " + base::grouped(failures) + " of " + checks + " failed, " + compared;
}

Result<ReportDiff> diff_reports(const NamedReport& base, const NamedReport& now,
                                const std::vector<Gate>& gates, const std::string& only_run,
                                const std::string& baseline) {
  HEAPTAPE_RETURN_IF_ERROR(check_labels(base));
  HEAPTAPE_RETURN_IF_ERROR(check_labels(now));
  HEAPTAPE_ASSIGN_OR_RETURN(const std::vector<RunPair> pairs,
                            !baseline.empty()  ? baseline_pairs(base, now, only_run, baseline)
                            : only_run.empty() ? matched_pairs(base, now)
                                               : only_pair(base, now, only_run));
  const bool is_by_label = only_run.empty() && baseline.empty();
  ReportDiff diff;
  diff.base = side_of(base);
  diff.now = side_of(now);
  diff.warning = unrelated_text(base.figures, now.figures);
  note_other_tape(base.figures, now.figures, diff.notes);
  if (base.figures.tape_events == now.figures.tape_events) note_other_range(pairs, diff.notes);
  if (is_by_label) {
    note_lone_runs(base, now, diff.notes);
    note_lone_runs(now, base, diff.notes);
  }
  compare_sites(base.figures, now.figures, diff);
  if (base.figures.cohorts && now.figures.cohorts) {
    diff.cohorts = diff_cohorts(*base.figures.cohorts, *now.figures.cohorts);
  }
  for (const RunPair& pair : pairs) diff.runs.push_back(diff_runs(pair, gates, base, now));
  diff.summary = summarize(base.figures, now.figures, diff.runs, diff.sites, diff.cohorts);
  for (const Gate& gate : gates) {
    std::ranges::move(judge(gate, pairs), std::back_inserter(diff.gates));
    if (!is_by_label) continue;
    std::ranges::move(judge_lost_runs(gate, base.figures.runs, now.figures.runs),
                      std::back_inserter(diff.gates));
  }
  diff.new_failures = count_new_failures(base, now, only_run, baseline);
  diff.failed =
      diff.new_failures != 0 ||
      std::ranges::find(diff.gates, GateState::kFailed, &GateOutcome::state) != diff.gates.end();
  return diff;
}

}  // namespace heaptape::replayer
