// The one list of commands and options.
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/number_text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/option_kinds.h"
#include "cli/wrong_words.h"

namespace heaptape::cli {
namespace {

using recorder::Follow;
using recorder::OnFull;
using replayer::DiffFormat;
using schema::TextFormat;

// What the user asked for, once the callback of a command has set it.
class Request {
 public:
  void set_by(CLI::App* command, Action action) {
    command->callback([this, action] { action_ = action; });
  }
  // Runs run(*options, console).
  template <typename Options, typename Run>
  void set_by(CLI::App* command, std::shared_ptr<Options> options, Run run) {
    set_by(command, [options, run](Console& console) { return run(*options, console); });
  }
  const Action& action() const { return action_; }

 private:
  Action action_ = [](Console& console) {
    return console.fail("a command is missing; see `heaptape --help`");
  };
};

const std::map<std::string, allocators::Touch> kTouches = {{"none", allocators::Touch::kNone},
                                                           {"page", allocators::Touch::kPage},
                                                           {"all", allocators::Touch::kAll}};
const std::map<std::string, allocators::Threads> kThreads = {
    {"ordered", allocators::Threads::kOrdered},
    {"lockstep", allocators::Threads::kLockStep},
    {"free", allocators::Threads::kFree},
    {"merged", allocators::Threads::kMerged}};

// What --stacks takes: "none", or how stacks are walked and how far.
void set_stacks(const std::string& text, recorder::SessionOptions& options) {
  constexpr uint64_t kUsualFrames = 64;
  std::vector<std::string> words = base::split_sets(text);
  const std::string mode = words.empty() ? "" : words.front();
  if (text == "none") {
    options.stack_frames = 0;
    return;
  }
  if (mode != "fp" && mode != "dwarf") {
    throw CLI::ValidationError("--stacks", "'" + text + "' is not one of none|fp|dwarf[,depth=N]");
  }
  words.erase(words.begin());
  const auto values = base::parse_values(
      "--stacks " + mode, {{"depth", kUsualFrames, "frames", {}, 1, recorder::kMostStackFrames}},
      words);
  if (!values.ok()) throw CLI::ValidationError("--stacks", values.error().message);
  options.stack_frames = static_cast<uint32_t>((*values)["depth"]);
  options.unwinding =
      mode == "fp" ? recorder::Unwinding::kFramePointers : recorder::Unwinding::kTables;
}

void add_record(CLI::App& app, Request& request) {
  auto options = std::make_shared<recorder::RecordOptions>();
  CLI::App* command =
      app.add_subcommand("record", "Run a command and record every call it makes to malloc");
  add_output(command, "-o,--output", options->tape_path,
             "the tape (default: NAME.tape for a program NAME)")
      ->option_text("TAPE");
  add_choice<Follow>(
      command, "--follow", options->session.follow,
      {{"none", Follow::kNone}, {"fork", Follow::kFork}, {"all", Follow::kAll}},
      "children to record: all, those made by fork until they execute a program, or none "
      "(default all)");
  add_choice<OnFull>(command, "--on-full", options->session.on_full,
                     {{"block", OnFull::kBlock}, {"drop", OnFull::kDrop}},
                     "when the recorder falls behind: let the program wait, or drop calls and "
                     "count them (default block)");
  command
      ->add_option_function<std::string>(
          "--stacks", [options](const std::string& text) { set_stacks(text, options->session); },
          "record from where blocks are asked for, N frames at most: dwarf goes by the unwind "
          "tables that every program has, fp by frame pointers, of programs built with "
          "-fno-omit-frame-pointer (default none; depth=64)")
      ->option_text("none|fp|dwarf[,depth=N]");
  command->add_option("command", options->command, "the command and its arguments, after --")
      ->required()
      ->option_text("CMD...");
  command->positionals_at_end();
  command->footer(
      "Example: heaptape record -o run.tape -- ./server --flags\n"
      "The exit status is that of the command. Children get tapes of their own;\n"
      "TAPE.manifest.json lists them.");
  request.set_by(command, options, run_record);
}

void add_ctl(CLI::App& app, Request& request) {
  auto options = std::make_shared<CtlOptions>();
  CLI::App* command =
      app.add_subcommand("ctl", "Mark a moment on the tape of a program while it is recorded");
  command->add_option("pid", options->pid, "the recorded process")
      ->required()
      ->transform(count_validator({.least = 1, .most = INT32_MAX}))
      ->option_text("PID");
  command->add_option("verb", options->verb, "what to do")->required()->option_text("mark");
  command
      ->add_option("name", options->name,
                   "what to call the moment: letters, digits, '-', '_' and '.'")
      ->required()
      ->option_text("NAME");
  command->footer(
      "Example: heaptape ctl 1234 mark loaded\n"
      "Then: heaptape explain run.tape -a glibc --at mark:loaded");
  request.set_by(command, options, run_ctl);
}

void add_info(CLI::App& app, Request& request) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command =
      app.add_subcommand("info", "Show which process a tape is of, and what the recorder noted");
  add_tape(command, options->path);
  add_json(command, options->format);
  command->footer("Example: heaptape info run.tape --json");
  request.set_by(command, options, run_info);
}

void add_verify(CLI::App& app, Request& request) {
  auto path = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("verify", "Read every byte; exit 1 if anything is damaged or was lost");
  add_tape(command, *path);
  command->footer("Example: heaptape verify run.tape");
  request.set_by(command, path, run_verify);
}

void add_recover(CLI::App& app, Request& request) {
  auto options = std::make_shared<RecoverOptions>();
  CLI::App* command =
      app.add_subcommand("recover", "Save what can be read of a damaged or unfinished tape");
  add_tape(command, options->path);
  add_output(command, "-o,--output", options->output, "the new tape")
      ->required()
      ->option_text("OUT");
  command->footer("Example: heaptape recover run.tape.partial -o run.tape");
  request.set_by(command, options, run_recover);
}

const std::map<std::string, replayer::StackValue> kStackValues = {
    {"peak", replayer::StackValue::kPeak},
    {"end", replayer::StackValue::kEnd},
    {"bytes", replayer::StackValue::kBytes},
    {"calls", replayer::StackValue::kCalls},
    {"temporaries", replayer::StackValue::kTemporaries}};

void add_hide(CLI::App* command, std::vector<std::string>& hide) {
  command
      ->add_option("--hide", hide,
                   "leave out frames whose function or module matches; may be repeated")
      ->allow_extra_args(false)
      ->option_text("REGEX...");
}

void add_site_filters(CLI::App* command, replayer::SiteFilters& filters) {
  add_hide(command, filters.hide);
  command
      ->add_option("--only", filters.only, "leave out stacks whose site does not match: site~REGEX")
      ->option_text("FILTER");
}

void add_symbols(CLI::App* command, replayer::SymbolOptions& symbols) {
  command
      ->add_option("--debug-dir", symbols.debug_dirs,
                   "a folder of debug files like /usr/lib/debug; may be repeated")
      ->allow_extra_args(false)
      ->option_text("DIR...");
  command->add_flag("--debuginfod", symbols.debuginfod,
                    "ask the servers in $DEBUGINFOD_URLS for debug files that are not here");
}

void add_symbolize(CLI::App& app, Request& request) {
  auto options = std::make_shared<SymbolizeOptions>();
  CLI::App* command = app.add_subcommand(
      "symbolize",
      "Write down the functions and lines of a tape's call stacks, for other machines");
  add_tape(command, options->path);
  add_output(command, "-o,--output", options->output,
             "the file (default: TAPE.symbols, which all commands use that need symbols)")
      ->option_text("FILE");
  add_symbols(command, options->symbols);
  command->footer("Example: heaptape symbolize run.tape");
  request.set_by(command, options, run_symbolize);
}

void add_stats(CLI::App& app, Request& request) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App* command =
      app.add_subcommand("stats", "Count the calls of a tape: sizes, lifetimes, resizes, threads");
  add_tape(command, options->path);
  add_choice<StatsTable>(command, "--by", options->table,
                         {{"size", StatsTable::kSizes},
                          {"thread", StatsTable::kThreads},
                          {"site", StatsTable::kSites}},
                         "print the whole table of sizes or of threads instead, or who asked for "
                         "the blocks, of a tape with call stacks");
  add_json(command, options->format);
  add_output(command, "--csv", options->csv_path,
             "write sizes and lifetimes as CSV, or with --by site the sites")
      ->option_text("FILE");
  add_choice<std::optional<replayer::StackValue>>(
      command, "--sort", options->sort, {kStackValues.begin(), kStackValues.end()},
      "what sites are ranked by: bytes at the peak or at the end, bytes asked for, calls, "
      "temporaries (default peak)");
  add_count(command, "--top", options->top, {.least = 1, .most = 1'000'000},
            "how many sites to show (default 30)");
  add_site_filters(command, options->filters);
  add_symbols(command, options->symbols);
  command->footer(
      "Example: heaptape stats run.tape --by size\n"
      "Who asked for the memory, of a tape recorded with --stacks:\n"
      "heaptape stats run.tape --by site");
  request.set_by(command, options, run_stats);
}

void add_export(CLI::App& app, Request& request) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      app.add_subcommand("export", "Write the call stacks of a tape for viewers of profiles");
  add_tape(command, options->path);
  add_choice<ExportFormat>(command, "--format", options->format,
                           {{"folded", ExportFormat::kFolded},
                            {"pprof", ExportFormat::kPprof},
                            {"speedscope", ExportFormat::kSpeedscope}},
                           "output format")
      ->required();
  add_output(command, "-o,--output", options->output, "the file (default: standard output)")
      ->option_text("FILE");
  add_choice<replayer::StackValue>(
      command, "--value", options->value, kStackValues,
      "what stacks are weighed by: bytes at the peak or at the end, bytes asked for, calls, "
      "temporaries; pprof and speedscope have all and show this first (default peak)");
  add_site_filters(command, options->filters);
  add_symbols(command, options->symbols);
  command->footer("Example: heaptape export run.tape --format speedscope -o run.speedscope.json");
  request.set_by(command, options, run_export);
}

void add_dump(CLI::App& app, Request& request) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App* command = app.add_subcommand("dump", "Print the events as text, one per line");
  add_tape(command, options->path);
  add_count(command, "--from", options->from, {}, "first call to print, counted from 1");
  add_count(command, "--to", options->to, {}, "last call to print");
  add_choice<TextFormat>(command, "--format", options->format,
                         {{"text", TextFormat::kText}, {"ndjson", TextFormat::kNdjson}},
                         "output format (default text)");
  command->add_flag("--times", options->with_times,
                    "also print when each call was made, in seconds since the recording began");
  command->add_flag("--stacks", options->with_stacks,
                    "also print the stack of each call, and what it is where it comes first");
  add_symbols(command, options->symbols);
  command->footer("Example: heaptape dump run.tape --from 1000 --to 1020");
  request.set_by(command, options, run_dump);
}

void add_replay(CLI::App& app, Request& request) {
  auto options = std::make_shared<ReplayCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "replay", "Replay a tape on allocators and report what became of the memory");
  add_tape(command, options->tape_path);
  command
      ->add_option("-a,--allocator", options->specs,
                   "[label=]ALLOCATOR[:OPTION=VALUE,...] [ENV=VALUE...], quoted; may be repeated; "
                   "see `heaptape allocators` (default: recorded, glibc, jemalloc, mimalloc and "
                   "tcmalloc, those that are installed)")
      ->option_text("SPEC...");
  add_output(command, "-o,--output", options->report_path, "write the report as JSON")
      ->option_text("REPORT.json");
  add_output(command, "--csv", options->csv_path, "write the timeline as CSV")->option_text("FILE");
  add_count(command, "--samples", options->replay.samples, {.least = 1, .most = 1'000'000},
            "points on the timeline, at most 1M (default 256)");
  add_count(command, "--until", options->replay.until, {},
            "stop after this many calls, such as 10k or 1.5M");
  command
      ->add_option("--do", options->actions,
                   "ask allocators to give memory back after call N, or at a moment: trim@N, "
                   "purge@plateau, trim@12.5s, trim@end; may be repeated")
      ->option_text("ACTION...");
  add_choice<allocators::Touch>(command, "--touch", options->replay.touch, kTouches,
                                "what to write into each block: every byte, nothing, or one byte "
                                "per page (default page)");
  add_choice<allocators::Threads>(
      command, "--threads", options->replay.threads, kThreads,
      "threads of a real allocator: all at once, each call handed to its "
      "own thread (slow), all calls on one, or each call as its own "
      "thread's (default ordered)");
  add_choice<allocators::Clock>(
      command, "--clock", options->replay.clock,
      {{"tape", allocators::Clock::kTape}, {"real", allocators::Clock::kReal}},
      "the time that real allocators see: that of this replay, or of the tape (default tape)");
  add_count(command, "--repeat", options->replay.repeats, {.least = 1, .most = 100},
            "replay on each real allocator so many times, at most 100, and give the medians of all "
            "times (default 1)");
  add_count(command, "--jobs", options->replay.jobs, {.least = 1, .most = 256},
            "replay on so many allocators at the same time, at most 256, and leave out all times "
            "(default 1)");
  command->add_flag("--latency", options->with_latency,
                    "print how long single calls took, by kind and size");
  add_hide(command, options->hide);
  add_symbols(command, options->symbols);
  command->footer(
      "Example: heaptape replay run.tape -a recorded -a glibc -a 'purge=jemalloc "
      "MALLOC_CONF=dirty_decay_ms:0' -o report.json");
  request.set_by(command, options, run_replay);
}

void add_explained(CLI::App* command, ExplainCommandOptions& options) {
  add_tape(command, options.tape_path);
  command
      ->add_option("-a,--allocator", options.spec,
                   "the allocator, as for `heaptape replay`; must be given")
      ->required()
      ->option_text("SPEC");
  command
      ->add_option("--at", options.at,
                   "the moment: peak, plateau, exit, end, mark:NAME, a call such as #1000, or a "
                   "time such as 12.5s (default: the plateau, or the exit where there is none)")
      ->option_text("WHEN");
  add_choice<allocators::Touch>(command, "--touch", options.explain.touch, kTouches,
                                "what to write into each block, as for `heaptape replay` (default "
                                "page)");
  add_choice<allocators::Threads>(command, "--threads", options.explain.threads, kThreads,
                                  "threads of a real allocator, as for `heaptape replay` (default "
                                  "ordered)");
  add_json(command, options.format);
  add_symbols(command, options.symbols);
}

void add_explain(CLI::App& app, Request& request) {
  auto options = std::make_shared<ExplainCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "explain", "Say where the memory of an allocator is, and what would give it back");
  add_explained(command, *options);
  options->holes.top = 5;
  add_count(command, "--top", options->holes.top, {.least = 1, .most = 100'000},
            "how many groups of pins and how many growths to show (default 5)");
  command->add_flag("--foresight", options->explain.with_foresight,
                    "also estimate what perfect foresight would save: takes several times as long");
  command->footer("Example: heaptape explain run.tape -a glibc --at plateau");
  request.set_by(command, options, run_explain);
}

void add_holes(CLI::App& app, Request& request) {
  auto options = std::make_shared<ExplainCommandOptions>();
  CLI::App* command =
      app.add_subcommand("holes", "List the largest holes of a heap, and the blocks that pin them");
  add_explained(command, *options);
  add_size(command, "--min-size", options->holes.min_bytes, "show no smaller hole one by one");
  add_count(command, "--top", options->holes.top, {.least = 1, .most = 100'000},
            "how many holes and groups of pins to show (default 10)");
  command->footer("Example: heaptape holes run.tape -a glibc --at peak --top 5");
  request.set_by(command, options, run_holes);
}

void add_allocators(CLI::App& app, Request& request) {
  CLI::App* command =
      app.add_subcommand("allocators", "List the allocators that a tape can be replayed on");
  command->footer("Example: heaptape allocators");
  request.set_by(command, run_allocators);
}

void add_diff(CLI::App& app, Request& request) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "Compare two reports; exit 1 if a gate fails");
  command->add_option("base", options->base_path, "the report to compare with")
      ->required()
      ->option_text("BASE.json");
  command->add_option("new", options->new_path, "the report to judge")
      ->required()
      ->option_text("NEW.json");
  command->add_option("--run", options->run, "compare only the run with this label")
      ->option_text("LABEL");
  command->add_option("--fail-if", options->fail_if, "a gate: METRIC OP VALUE; may be repeated")
      ->option_text("EXPR...");
  add_choice<DiffFormat>(command, "--format", options->format,
                         {{"text", DiffFormat::kText},
                          {"markdown", DiffFormat::kMarkdown},
                          {"json", DiffFormat::kJson},
                          {"junit", DiffFormat::kJunit}},
                         "output format (default text)");
  command->footer(
      "Example: heaptape diff main.json branch.json --fail-if 'peak.committedBytes>+5%'");
  request.set_by(command, options, run_diff);
}

void add_scenario(CLI::App& app, Request& request) {
  struct Options {
    scenarios::ScenarioOptions scenario;
    ScenarioDetail detail = ScenarioDetail::kNames;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("scenario", "Write a tape of a heap whose history is known");
  command->add_option("name", options->scenario.name, "the scenario, or `list`")
      ->required()
      ->option_text("NAME");
  command->add_option("--set", options->scenario.sets, "set a parameter; may be repeated")
      ->option_text("K=V...");
  add_output(command, "-o,--output", options->scenario.output, "the tape")->option_text("TAPE");
  command->add_flag_callback(
      "--verbose", [options] { options->detail = ScenarioDetail::kParameters; },
      "with `list`: show the parameters, too");
  command->footer("Example: heaptape scenario fill --set count=100000 --set size=232 -o fill.tape");
  request.set_by(command, options, [](const Options& given, Console& console) {
    return given.scenario.name == "list" ? run_scenario_list(given.detail, console)
                                         : run_scenario(given.scenario, console);
  });
}

Action with_looks(const Looks& looks, const Action& action) {
  return [looks, action](Console& console) {
    console.choose_colours(looks.colours);
    base::set_bytes_style(looks.exact_bytes ? base::BytesStyle::kExact : base::BytesStyle::kScaled);
    return action(console);
  };
}

// Prints what --help or --version asked for.
Action print(const CLI::App& app, const CLI::Success& success) {
  std::ostringstream text;
  const int exit_code = app.exit(success, text);
  return [text = text.str(), exit_code](Console& console) {
    console.out() << text;
    return console.finish(exit_code);
  };
}

}  // namespace

Action parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Record every malloc call of a real run; replay it on any allocator.", "heaptape");
  app.set_version_flag("--version", std::string("heaptape ") + base::kVersion);
  app.require_subcommand(0, 1);  // none: Request says so, after unknown words
  app.footer("`heaptape COMMAND --help` has an example of each.");
  Request request;
  add_record(app, request);
  add_ctl(app, request);
  add_info(app, request);
  add_verify(app, request);
  add_recover(app, request);
  add_stats(app, request);
  add_export(app, request);
  add_symbolize(app, request);
  add_dump(app, request);
  add_replay(app, request);
  add_explain(app, request);
  add_holes(app, request);
  add_allocators(app, request);
  add_diff(app, request);
  add_scenario(app, request);
  Looks looks;
  add_looks(&app, looks);
  for (CLI::App* command : app.get_subcommands({})) add_looks(command, looks);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return print(app, success);
  } catch (const CLI::ParseError& error) {
    const std::string sentence = wrong_words(app, error);
    return with_looks(looks, [sentence](Console& console) { return console.fail(sentence); });
  }
  return with_looks(looks, request.action());
}

}  // namespace heaptape::cli
