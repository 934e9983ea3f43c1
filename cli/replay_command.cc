#include "cli/commands.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

#include "allocators/catalog/backend_spec.h"
#include "base/display_text.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/allocator_words.h"
#include "cli/bigger_tape.h"
#include "cli/counted_sites.h"
#include "cli/help_text.h"
#include "cli/output_check.h"
#include "cli/tape_reading.h"
#include "cli/tape_verdict.h"
#include "replayer/engine/tape_moments.h"
#include "replayer/export/frame_tree.h"
#include "replayer/report/film_sites.h"
#include "replayer/report/html/replay_page.h"
#include "replayer/report/latency_table.h"
#include "replayer/report/pinned_stacks.h"
#include "replayer/report/report_builder.h"
#include "replayer/report/run_table.h"
#include "replayer/report/verdict_text.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {
namespace {

using base::Error;
using base::Result;
using base::Status;

// "REPORT.LABEL.log", without characters that do not belong in a file name.
std::string log_path(const std::string& report, const std::string& label) {
  std::string name = label;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  }
  return report + "." + name + ".log";
}

bool has_logs(const ReplayCommandOptions& options) {
  return !options.report_path.empty() && !base::is_written_directly(options.report_path);
}

// Labels may differ only in such characters.
Status check_logs(const ReplayCommandOptions& options,
                  const std::vector<allocators::BackendSpec>& specs) {
  if (!has_logs(options)) return {};
  std::map<std::string, std::string> labels;  // by path of the log
  for (const allocators::BackendSpec& spec : specs) {
    if (!spec.runs_real_code()) continue;
    const std::string path = log_path(options.report_path, spec.label);
    if (base::same_file(path, options.tape_path)) {
      return Error::usage("'" + path + "' is the tape, but would also be the log of '" +
                          spec.label + "': write the report to another file");
    }
    const auto [other, is_new] = labels.emplace(path, spec.label);
    if (is_new) continue;
    return Error::usage("the logs of '" + other->second + "' and '" + spec.label +
                        "' would be the same file: give the allocators different labels");
  }
  return {};
}

// A typing mistake must not overwrite the input, nor one result another.
Status check_outputs(const ReplayCommandOptions& options,
                     const std::vector<allocators::BackendSpec>& specs) {
  const std::pair<const char*, const std::string&> outputs[] = {
      {"report", options.report_path}, {"CSV", options.csv_path}, {"HTML", options.html_path}};
  for (const auto& [name, path] : outputs) {
    if (!path.empty() && base::same_file(path, options.tape_path)) {
      return Error::usage("'" + path + "' is the tape: write to another file");
    }
    for (const allocators::BackendSpec& spec : specs) {
      if (!base::same_file(path, spec.file())) continue;
      return Error::usage("'" + path + "' is the file of '" + spec.text +
                          "': write to another file");
    }
    for (const auto& [other, other_path] : outputs) {
      if (&other == &name) break;
      if (path.empty() || !base::same_file(path, other_path)) continue;
      return Error::usage(std::string(other) + " and " + name + " cannot both go to '" + path +
                          "': name two files");
    }
  }
  HEAPTAPE_RETURN_IF_ERROR(check_logs(options, specs));
  for (const auto& [name, path] : outputs) HEAPTAPE_RETURN_IF_ERROR(check_writable(path));
  return {};
}

// Writes the allocators' output beside the report. Removes logs of an earlier replay.
Status write_logs(const ReplayCommandOptions& options,
                  const std::vector<replayer::RunResult>& runs) {
  if (!has_logs(options)) return {};
  for (const replayer::RunResult& run : runs) {
    const std::string path = log_path(options.report_path, run.spec.label);
    if (run.output.empty()) {
      std::error_code error;
      if (run.spec.runs_real_code()) std::filesystem::remove(path, error);
      continue;
    }
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(path, run.output + "\n"));
  }
  return {};
}

// Actions at moments of the tape are resolved here.
Result<std::vector<replayer::Action>> actions_of(const ReplayCommandOptions& options,
                                                 schema::TapeReader& tape,
                                                 const std::vector<replayer::Moment>& moments) {
  std::vector<replayer::Action> actions;
  for (const std::string& text : options.actions) {
    if (const auto request = replayer::moment_of_action(text)) {
      const auto found = std::ranges::find(moments, request->name, &replayer::Moment::name);
      const std::string name = text.substr(0, text.find('@'));
      if (found != moments.end()) {
        actions.push_back({name, found->event});
        continue;
      }
      HEAPTAPE_ASSIGN_OR_RETURN(const auto moment, replayer::find_moment(tape, *request, nullptr));
      if (moment.event > options.replay.until) {
        return Error::usage("'" + text + "' would be after #" + base::grouped(moment.event) +
                            ", but the replay ends after " + base::grouped(options.replay.until) +
                            " calls (--to)");
      }
      if (moment.event + 1 < options.replay.from) {
        return Error::usage("'" + text + "' would be after #" + base::grouped(moment.event) +
                            ", but the range begins with #" + base::grouped(options.replay.from) +
                            " (--from)");
      }
      actions.push_back({name, moment.event});
    } else {
      HEAPTAPE_ASSIGN_OR_RETURN(actions.emplace_back(), replayer::parse_action(text));
    }
  }
  return actions;
}

// Checks the actions except those at moments, which are known only when the tape has been read.
Status check_actions(const std::vector<std::string>& actions) {
  for (const std::string& text : actions) {
    if (replayer::moment_of_action(text)) continue;
    HEAPTAPE_RETURN_IF_ERROR(replayer::parse_action(text));
  }
  return {};
}

Status check_filters(const ReplayCommandOptions& options) {
  const bool has_filter = !options.filters.hide.empty() || !options.filters.only.empty();
  const bool has_sites = !options.report_path.empty() || !options.html_path.empty();
  if (!has_filter || has_sites) return {};
  return Error::usage("--hide and --only apply to the call sites of a report: add -o or --html");
}

// Refuses timings of allocators that share processors.
Status check_jobs(const ReplayCommandOptions& options) {
  if (options.replay.jobs == 1) return {};
  const char* const timed = options.replay.repeats > 1 ? "--repeat"
                            : options.with_latency     ? "--latency"
                                                       : nullptr;
  if (timed == nullptr) return {};
  return Error::usage(std::string(timed) +
                      " needs timings, which --jobs omits: use only one of the two");
}

// Nothing if the tape has no call stacks or there is no report. Call it while there is only one
// thread.
Result<std::optional<CountedSites>> sites_of(const ReplayCommandOptions& options,
                                             const replayer::SiteRules& rules,
                                             schema::TapeReader& tape, Console& console) {
  if (options.report_path.empty() && options.html_path.empty()) {
    return std::optional<CountedSites>();
  }
  HEAPTAPE_ASSIGN_OR_RETURN(auto stacks,
                            read_stacks_if_any(tape, options.filters, options.symbols, console));
  if (!stacks) return std::optional<CountedSites>();
  HEAPTAPE_ASSIGN_OR_RETURN(
      CountedSites counted,
      count_sites(tape, std::move(*stacks), rules, replayer::StackValue::kPeak, options.replay.from,
                  options.replay.until, console));
  return std::optional(std::move(counted));
}

// Adds the tree of stacks, with the bytes that their blocks pin in each run. Moves the reader.
Status add_tree(schema::TapeReader& tape, const replayer::SiteRules& rules,
                const std::vector<replayer::RunResult>& runs, CountedSites& sites) {
  HEAPTAPE_ASSIGN_OR_RETURN(sites.ranked.pinned, replayer::pinned_stacks(tape, runs));
  const replayer::ShownStacks shown(sites.stacks->stacks, sites.stacks->symbols, rules,
                                    std::exchange(sites.by_stack, {}));
  sites.ranked.stacks = replayer::frame_tree(shown, sites.ranked.pinned, {});
  if (const auto& sampled = sites.ranked.table.sampled) {
    sites.ranked.stacks.sampling =
        schema::StackTree::Sampling{sampled->recording.every_bytes, sampled->calls};
  }
  return {};
}

// Empty if there is no page, or the tape has no call stacks.
Result<replayer::FilmSites> film_sites_of(const ReplayCommandOptions& options,
                                          schema::TapeReader& tape,
                                          const std::vector<replayer::RunResult>& runs,
                                          const std::optional<CountedSites>& sites) {
  if (!sites || options.html_path.empty()) return replayer::FilmSites();
  return replayer::film_sites(tape, runs, sites->ranked.sites);
}

// The results of a replay, and of its tape: `sites` is null if there are none.
struct Results {
  const schema::TapeReader& tape;
  const replayer::BuiltReport& report;
  const std::vector<replayer::RunResult>& runs;
  const replayer::RankedSites* sites;
  const replayer::FilmSites& film_sites;
};

Status write_files(const ReplayCommandOptions& options, const Results& results) {
  if (!options.report_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(options.report_path, results.report.json));
  }
  if (!options.csv_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(options.csv_path, results.report.timeline_csv));
  }
  if (!options.html_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(
        options.html_path, replayer::replay_page(results.tape, results.report, results.runs,
                                                 results.sites, results.film_sites)));
  }
  return write_logs(options, results.runs);
}

// Returns the exit code.
Result<int> replay_and_report(const ReplayCommandOptions& options, Console& console) {
  HEAPTAPE_RETURN_IF_ERROR(check_jobs(options));
  HEAPTAPE_RETURN_IF_ERROR(check_filters(options));
  replayer::ReplayOptions replay_options = options.replay;
  HEAPTAPE_ASSIGN_OR_RETURN(replay_options.specs, parse_specs(options.specs));
  HEAPTAPE_RETURN_IF_ERROR(check_actions(options.actions));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto rules, replayer::SiteRules::make(options.filters));
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape,
                            open_tape(options.tape_path, schema::OnDamage::kStop, console));
  HEAPTAPE_RETURN_IF_ERROR(check_range(options.replay.from, options.replay.until, tape));
  if (!options.is_chosen) note_bigger_tape(tape, console);
  if (options.specs.empty()) {
    replay_options.specs = default_specs(tape, console);
  }
  HEAPTAPE_RETURN_IF_ERROR(check_outputs(options, replay_options.specs));
  HEAPTAPE_ASSIGN_OR_RETURN(auto sites, sites_of(options, rules, tape, console));
  replay_options.name_culprits = true;
  replay_options.keep_pins = !options.report_path.empty();
  replay_options.keep_pinning_blocks = sites.has_value();
  replay_options.keep_film = !options.html_path.empty();
  const auto find_actions = [&]() -> Status {
    HEAPTAPE_ASSIGN_OR_RETURN(replay_options.actions,
                              actions_of(options, tape, replay_options.moments));
    return {};
  };
  HEAPTAPE_ASSIGN_OR_RETURN(const auto runs,
                            find_moments_and_replay(tape, replay_options, console, find_actions));
  if (sites) HEAPTAPE_RETURN_IF_ERROR(add_tree(tape, rules, runs, *sites));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto film_sites, film_sites_of(options, tape, runs, sites));
  const auto* const ranked = sites ? &sites->ranked : nullptr;
  const auto name = [&](replayer::Verdict& verdict) {
    return name_sites(tape, ranked, options.filters, options.symbols, console, verdict);
  };
  HEAPTAPE_ASSIGN_OR_RETURN(const auto report,
                            replayer::build_report(tape, runs, replay_options, ranked, name));
  HEAPTAPE_RETURN_IF_ERROR(write_files(options, {tape, report, runs, ranked, film_sites}));
  const size_t width = console.table_width();
  console.print_text(
      wrap_help(replayer::verdict_text(report.verdict, report.figures.tape_path), width) + "\n" +
      replayer::run_table(report.figures, runs, width) + losses_line(tape));
  if (options.with_latency) console.out() << replayer::latency_table(runs);
  return tell_failures(report.figures, console);
}

}  // namespace

int run_replay(const ReplayCommandOptions& given, Console& console) {
  tell_file_size_limit();
  const auto path = choose_tape(given.tape_path, given.process, console);
  if (!path.ok()) return console.fail(path.error());
  ReplayCommandOptions options = given;
  options.is_chosen = *path != given.tape_path;
  options.tape_path = *path;
  const Result<int> exit_code = replay_and_report(options, console);
  return exit_code.ok() ? console.finish(*exit_code) : console.fail(exit_code.error());
}

}  // namespace heaptape::cli
