// The options of commands that replay a tape.
#include <map>
#include <memory>
#include <string>

#include "cli/command_groups.h"
#include "cli/commands.h"
#include "cli/option_kinds.h"
#include "cli/site_options.h"

namespace heaptape::cli {
namespace {

const std::map<std::string, allocators::Touch> kTouches = {{"none", allocators::Touch::kNone},
                                                           {"page", allocators::Touch::kPage},
                                                           {"all", allocators::Touch::kAll}};
const std::map<std::string, allocators::Threads> kThreads = {
    {"ordered", allocators::Threads::kOrdered},
    {"lockstep", allocators::Threads::kLockStep},
    {"free", allocators::Threads::kFree},
    {"merged", allocators::Threads::kMerged}};

// Selects the replayed calls.
void add_calls(CLI::App* command, ReplayCommandOptions& options) {
  add_count(command, "--from", options.replay.from, {.least = 1},
            "first call to analyze, counted from 1; the calls before it are made and not counted");
  add_count(command, "--to", options.replay.until, {},
            "stop after this many calls, such as 10k or 1.5M");
  command
      ->add_option("--do", options.actions,
                   "ask allocators to return memory to the system after call N, or at a moment: "
                   "trim@N (or purge@N, the same), trim@plateau, trim@12.5s, trim@end; may be "
                   "repeated")
      ->option_text("ACTION...");
  add_choice<allocators::Touch>(command, "--touch", options.replay.touch, kTouches,
                                "what to write into each block: every byte, nothing, or one byte "
                                "per page (default page)");
  add_choice<allocators::Threads>(
      command, "--threads", options.replay.threads, kThreads,
      "how a real allocator is called: ordered (the default), by one thread that makes each call "
      "as the thread that made it on the tape; lockstep, each call by its own thread, one at a "
      "time (slow); merged, all calls by one thread; free, all threads at once");
  add_choice<allocators::Clock>(
      command, "--clock", options.replay.clock,
      {{"tape", allocators::Clock::kTape}, {"real", allocators::Clock::kReal}},
      "the clock that real allocators see: the replay's (real) or the tape's (default tape)");
  add_choice<allocators::Steer>(
      command, "--steer", options.replay.steer,
      {{"on", allocators::Steer::kAsRecorded}, {"off", allocators::Steer::kOff}},
      "whether to repeat the calls and settings by which the program steered its allocator: "
      "mallopt, malloc_trim, MALLOC_CONF and the like (default on)");
}

void add_times(CLI::App* command, ReplayCommandOptions& options) {
  add_count(command, "--repeat", options.replay.repeats, {.least = 1, .most = 100},
            "replay on each real allocator this many times, up to 100, and report median timings "
            "(default 1)");
  add_count(command, "--jobs", options.replay.jobs, {.least = 1, .most = 256},
            "replay on this many allocators at once, up to 256; more than 1 omits timings "
            "(default 1)");
  command->add_flag("--latency", options.with_latency,
                    "print how long individual calls took, by kind and size");
}

CLI::Option* add_explained(CLI::App* command, ExplainCommandOptions& options,
                           const std::string& without) {
  add_tape_of(command, options.tape_path, options.process);
  CLI::Option* const allocator =
      command
          ->add_option("-a,--allocator", options.spec,
                       "the allocator, as for `heaptape replay`" + without)
          ->option_text("SPEC");
  command
      ->add_option(
          "--at", options.at,
          "the moment: peak, plateau, exit (before the last frees), end, mark:NAME, a call such "
          "as #1000, or a time such as 12.5s (default: the plateau, or the exit if there is "
          "none)")
      ->option_text("WHEN");
  add_choice<allocators::Touch>(command, "--touch", options.explain.touch, kTouches,
                                "what to write into each block, as for `heaptape replay` (default "
                                "page)");
  add_choice<allocators::Threads>(
      command, "--threads", options.explain.threads, kThreads,
      "how a real allocator is called, as for `heaptape replay` (default ordered)");
  add_json(command, options.format);
  add_site_filters(command, options.filters);
  add_symbols(command, options.symbols);
  return allocator;
}

}  // namespace

void add_replay(CLI::App& app, Request& request) {
  auto options = std::make_shared<ReplayCommandOptions>();
  CLI::App* command =
      app.add_subcommand("replay", "Replay a tape on allocators and report how each used memory");
  add_tape_of(command, options->tape_path, options->process);
  command
      ->add_option("-a,--allocator", options->specs,
                   "[label=]ALLOCATOR[:OPTION=VALUE,...] [ENV=VALUE...], quoted; may be repeated; "
                   "FAMILY@VERSION or FAMILY@PATH selects a library other than the newest "
                   "installed; see `heaptape allocators` (default: recorded, and glibc, jemalloc, "
                   "mimalloc and tcmalloc if installed)")
      ->option_text("SPEC...");
  add_output(command, "-o,--output", options->report_path, "write the report as JSON")
      ->option_text("REPORT.json");
  add_output(command, "--csv", options->csv_path, "write the timeline as CSV")->option_text("FILE");
  add_output(command, "--html", options->html_path, "write an HTML page")->option_text("FILE");
  add_count(command, "--samples", options->replay.samples, {.least = 1, .most = 1'000'000},
            "points on the timeline, at most 1M (default 256)");
  add_calls(command, *options);
  add_times(command, *options);
  add_site_filters(command, options->filters);
  add_symbols(command, options->symbols);
  command->footer(
      "Example: heaptape replay run.tape -a recorded -a glibc -a 'purge=jemalloc "
      "MALLOC_CONF=dirty_decay_ms:0' -o report.json");
  request.set_by(command, options, run_replay);
}

void add_explain(CLI::App& app, Request& request) {
  auto options = std::make_shared<ExplainCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "explain", "Show where an allocator's memory is, and what would return it to the system");
  add_explained(command, *options,
                " (default: those of `heaptape replay`, and what follows from all of them)");
  options->holes.top = 0;
  add_count(command, "--top", options->holes.top, {.least = 1, .most = 100'000},
            "how many groups of pins and how many growths to show (default 5)");
  command->add_flag("--foresight", options->explain.with_foresight,
                    "also estimate what perfect foresight would save: takes several times as long");
  add_output(command, "--html", options->html_path, "also write an HTML page")->option_text("FILE");
  command->footer(
      "Example: heaptape explain run.tape\n"
      "Example: heaptape explain run.tape -a glibc --at plateau");
  request.set_by(command, options, run_explain);
}

void add_holes(CLI::App& app, Request& request) {
  auto options = std::make_shared<ExplainCommandOptions>();
  CLI::App* command =
      app.add_subcommand("holes", "List the largest holes of a heap, and the blocks that pin them");
  add_explained(command, *options, "; required")->required();
  add_size(command, "--min-size", options->holes.min_bytes,
           "the smallest hole to list individually (default: all)");
  add_count(command, "--top", options->holes.top, {.least = 1, .most = 100'000},
            "how many holes and groups of pins to show (default 10)");
  command->footer("Example: heaptape holes run.tape -a glibc --at peak --top 5");
  request.set_by(command, options, run_holes);
}

void add_allocators(CLI::App& app, Request& request) {
  auto options = std::make_shared<AllocatorsOptions>();
  CLI::App* command =
      app.add_subcommand("allocators", "List the allocators that a tape can be replayed on");
  add_json(command, options->format);
  command
      ->add_option("-a,--allocator", options->specs,
                   "with --json: list this one, written as for `heaptape replay`; may be repeated "
                   "(default: all that need no path)")
      ->option_text("SPEC...");
  command->footer("Example: heaptape allocators");
  request.set_by(command, options, run_allocators);
}

void add_diff(CLI::App& app, Request& request) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand(
      "diff", "Compare two reports; exit 1 if a gate fails or a run newly fails");
  command
      ->add_option("reports", options->paths,
                   "the base report, or several from repeated runs, then the report to judge; with "
                   "--baseline one report is enough")
      ->required()
      ->option_text("BASE.json... NEW.json");
  command
      ->add_option("--baseline", options->baseline,
                   "compare every run with the base run that has this label")
      ->option_text("LABEL");
  command->add_flag("--strict", options->is_strict,
                    "also apply the gates listed in docs/howto-ci.md");
  command->add_flag("--all", options->shows_all,
                    "show every metric in text and Markdown tables, not only the important ones");
  command->add_option("--run", options->run, "compare only the run with this label")
      ->option_text("LABEL");
  command
      ->add_option("--fail-if", options->fail_if,
                   "a gate, what must not happen: METRIC OP VALUE, where OP is >, >=, <, <=, == or "
                   "!=; may be repeated")
      ->option_text("EXPR...");
  add_choice<replayer::DiffFormat>(command, "--format", options->format,
                                   {{"text", replayer::DiffFormat::kText},
                                    {"markdown", replayer::DiffFormat::kMarkdown},
                                    {"json", replayer::DiffFormat::kJson},
                                    {"junit", replayer::DiffFormat::kJunit}},
                                   "output format (default text)");
  add_output(command, "--html", options->html_path, "also write an HTML page")->option_text("FILE");
  command->footer(
      "Example: heaptape diff main.json branch.json --fail-if 'peak.committedBytes>+5%'");
  request.set_by(command, options, run_diff);
}

}  // namespace heaptape::cli
