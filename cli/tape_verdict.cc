#include "cli/tape_verdict.h"

#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "base/display_text.h"
#include "cli/allocator_words.h"
#include "cli/bigger_tape.h"
#include "cli/help_text.h"
#include "cli/tape_reading.h"
#include "cli/tape_stacks.h"
#include "replayer/engine/replay.h"
#include "replayer/engine/tape_moments.h"
#include "replayer/report/report_builder.h"
#include "replayer/report/run_verdict.h"
#include "replayer/report/tape_stats.h"
#include "replayer/report/verdict_text.h"
#include "replayer/sites/call_sites.h"
#include "replayer/sites/stack_profile.h"

namespace heaptape::cli {
namespace {

using base::Error;
using base::Result;
using base::Status;

Status check_options(const ExplainCommandOptions& options) {
  const char* const one = options.at                       ? "--at"
                          : !options.html_path.empty()     ? "--html"
                          : options.explain.with_foresight ? "--foresight"
                          : options.holes.top != 0         ? "--top"
                          : !options.filters.only.empty()  ? "--only"
                                                           : nullptr;
  if (one == nullptr) return {};
  return Error::usage(std::string(one) +
                      " is about the heap of one allocator: add -a, such as -a recorded");
}

// Counts the calls up to the verdict's moment.
Status name_live(schema::TapeReader& tape, const replayer::Sites& sites, Console& console,
                 replayer::Verdict& verdict) {
  const auto stacks = static_cast<schema::FrameNumber>(sites.by_stack().size());
  replayer::StackProfile profile(stacks, {}, replayer::SampleWeight(tape.header().stacks));
  Progress progress(console, "counting");
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  HEAPTAPE_RETURN_IF_ERROR(replayer::count_stacks(
      tape, profile, [&progress](double share) { progress.show(share); }, 1, verdict.at));
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  replayer::name_live(profile, sites, verdict);
  return {};
}

}  // namespace

Result<std::vector<replayer::RunResult>> find_moments_and_replay(
    schema::TapeReader& tape, replayer::ReplayOptions& options, Console& console,
    const std::function<Status()>& before_replay) {
  constexpr double kShareOfSearch = 0.2;
  Progress progress(console, "replaying " + base::display_text(tape.path()));
  HEAPTAPE_ASSIGN_OR_RETURN(
      options.moments,
      replayer::find_moments(
          tape, options.until, [&](double share) { progress.show(share * kShareOfSearch); },
          &options.process, options.from));
  if (before_replay) HEAPTAPE_RETURN_IF_ERROR(before_replay());
  return replayer::replay(tape, options, [&](double share) {
    progress.show(kShareOfSearch + (1 - kShareOfSearch) * share);
  });
}

std::vector<allocators::BackendSpec> default_specs(const schema::TapeReader& tape,
                                                   Console& console) {
  std::vector<allocators::BackendSpec> specs = usable_specs(default_allocators(), console);
  // That run would be refused.
  if (tape.header().origin.lacks(schema::Absent::kAddresses)) {
    std::erase_if(specs, [](const allocators::BackendSpec& spec) {
      return spec.kind == allocators::BackendKind::kRecorded;
    });
  }
  return specs;
}

int tell_failures(const schema::ReportFigures& report, Console& console) {
  int exit_code = kExitDone;
  for (const schema::RunFigures& run : report.runs) {
    if (run.failure.empty()) continue;
    exit_code = kExitFailed;
    console.print_error("'" + run.label + "' failed " + run.failure);
  }
  return exit_code;
}

Status name_sites(schema::TapeReader& tape, const replayer::RankedSites* ranked,
                  const replayer::SiteFilters& filters, const replayer::SymbolOptions& symbols,
                  Console& console, replayer::Verdict& verdict) {
  std::vector<uint64_t> calls = replayer::calls_of(verdict);
  const bool tells_live = verdict.has(replayer::FindingKind::kLive);
  if (calls.empty() && !tells_live) return {};
  const replayer::Sites* sites = ranked == nullptr ? nullptr : &ranked->sites;
  std::optional<TapeStacks> stacks;
  std::optional<replayer::Sites> own;
  if (sites == nullptr) {
    HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
    HEAPTAPE_ASSIGN_OR_RETURN(stacks, read_stacks_if_any(tape, filters, symbols, console));
    if (!stacks) return {};
    HEAPTAPE_ASSIGN_OR_RETURN(const auto rules, replayer::SiteRules::make(filters));
    sites = &own.emplace(stacks->stacks, stacks->symbols, rules);
  }
  const bool is_in_table = tells_live && ranked != nullptr &&
                           replayer::name_live(ranked->table, tape.events(), *sites, verdict);
  if (tells_live && !is_in_table) {
    HEAPTAPE_RETURN_IF_ERROR(name_live(tape, *sites, console, verdict));
  }
  if (calls.empty()) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(const auto of_calls,
                            replayer::CallSites::read(tape, *sites, std::move(calls)));
  replayer::name_sites(of_calls, verdict);
  return {};
}

Result<int> explain_verdict(const ExplainCommandOptions& options, Console& console) {
  HEAPTAPE_RETURN_IF_ERROR(check_options(options));
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape,
                            open_tape(options.tape_path, schema::OnDamage::kStop, console));
  if (!options.is_chosen) note_bigger_tape(tape, console);
  replayer::ReplayOptions replayed{.specs = default_specs(tape, console),
                                   .touch = options.explain.touch,
                                   .threads = options.explain.threads,
                                   .name_culprits = true,
                                   .times = false};
  HEAPTAPE_ASSIGN_OR_RETURN(const auto runs, find_moments_and_replay(tape, replayed, console));
  const auto name = [&](replayer::Verdict& verdict) {
    return name_sites(tape, nullptr, options.filters, options.symbols, console, verdict);
  };
  HEAPTAPE_ASSIGN_OR_RETURN(const auto report,
                            replayer::build_report(tape, runs, replayed, nullptr, name));
  if (options.format == Format::kJson) {
    console.out() << report.verdict_json;
  } else {
    const std::string text = replayer::verdict_text(report.verdict, report.figures.tape_path);
    console.print_text(wrap_help(text, console.table_width()) + losses_line(tape));
  }
  return tell_failures(report.figures, console);
}

}  // namespace heaptape::cli
