// The one list of commands. The options of those that have most are in the files of
// command_groups.h.
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/number_text.h"
#include "base/version.h"
#include "cli/command_groups.h"
#include "cli/commands.h"
#include "cli/external_command.h"
#include "cli/option_kinds.h"
#include "cli/request.h"
#include "cli/wrong_words.h"

namespace heaptape::cli {
namespace {

using recorder::Follow;
using recorder::OnFull;
using replayer::DiffFormat;

bool is_unwinding(const std::string& word) {
  return word == "fp" || word == "dwarf";
}

// `words` came behind how stacks are walked. A later one that overrules an earlier one is a slip,
// more often than not.
void refuse_twice(const std::vector<std::string>& words) {
  std::set<std::string> names;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (word == "none") {
      throw CLI::ValidationError("--stacks", "none stands alone: leave out ',none', or all else");
    }
    if (is_unwinding(word)) {
      throw CLI::ValidationError("--stacks",
                                 "it takes one of fp and dwarf: leave out '," + word + "'");
    }
    if (!names.insert(name).second) {
      throw CLI::ValidationError("--stacks", "'" + name + "' is given more than once");
    }
  }
}

// What --stacks takes: "none", or how stacks are walked, how far, and of which calls.
void set_stacks(const std::string& text, recorder::SessionOptions& options) {
  constexpr uint64_t kUsualFrames = 64;
  std::vector<std::string> words = base::split_sets(text);
  const std::string mode = words.empty() ? "" : words.front();
  if (text == "none") {
    options.stack_frames = 0;
    return;
  }
  if (!is_unwinding(mode)) {
    throw CLI::ValidationError(
        "--stacks", "'" + text + "' is not one of none|fp|dwarf[,depth=N][,every=BYTES]");
  }
  words.erase(words.begin());
  refuse_twice(words);
  const auto values =
      base::parse_values(mode,
                         {{"depth", kUsualFrames, "frames", {}, 1, recorder::kMostStackFrames},
                          {"every", 0, "bytes", {}, 0, recorder::kMostStackBytes}},
                         words);
  if (!values.ok()) throw CLI::ValidationError("--stacks", values.error().message);
  options.stack_frames = static_cast<uint32_t>((*values)["depth"]);
  options.stack_bytes = (*values)["every"];
  options.unwinding =
      mode == "fp" ? recorder::Unwinding::kFramePointers : recorder::Unwinding::kTables;
}

void add_record(CLI::App& app, Request& request) {
  auto given = std::make_shared<RecordCommandOptions>();
  recorder::RecordOptions* const options = &given->record;  // lives as long
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
          "--stacks", [given](const std::string& text) { set_stacks(text, given->record.session); },
          "record from where blocks are asked for, N frames at most: dwarf goes by the unwind "
          "tables that every program has, fp by frame pointers, of programs built with "
          "-fno-omit-frame-pointer; every=512KiB records the stacks of calls for one byte in so "
          "many, chosen at random, at next to no cost (default none; depth=64, all calls)")
      ->option_text("none|fp|dwarf[,depth=N][,every=BYTES]");
  command->add_flag("--live", given->is_live,
                    "show once a second, on standard error, what is live, grows and is recorded");
  command->add_option("command", options->command, "the command and its arguments, after --")
      ->required()
      ->option_text("CMD...");
  command->positionals_at_end();
  command->footer(
      "Example: heaptape record -o run.tape -- ./server --flags\n"
      "The exit status is that of the command. Children get tapes of their own;\n"
      "TAPE.manifest.json lists them.");
  request.set_by(command, given, run_record);
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
  add_output(command, "-o,--output", options->output, "the new tape; must be given")
      ->required()
      ->option_text("OUT");
  command->footer("Example: heaptape recover run.tape.partial -o run.tape");
  request.set_by(command, options, run_recover);
}

void add_scrub(CLI::App& app, Request& request) {
  auto options = std::make_shared<ScrubOptions>();
  CLI::App* command = app.add_subcommand(
      "scrub", "Copy a tape without what tells of the machine, to give it to others");
  add_tape(command, options->path);
  add_output(command, "-o,--output", options->output, "the new tape; must be given")
      ->required()
      ->option_text("OUT");
  add_count(command, "--from", options->from, {.least = 1},
            "first call to keep; what lives then is allocated at the beginning");
  add_count(command, "--until", options->until, {.least = 1}, "last call to keep");
  command->add_flag(
      "--hash-names", options->hash_names,
      "hash the names of files and of code made at run time, and leave out build ids");
  command->footer("Example: heaptape scrub run.tape -o public.tape --until 1M");
  request.set_by(command, options, run_scrub);
}

void add_import(CLI::App& app, Request& request) {
  auto options = std::make_shared<recorder::ImportOptions>();
  CLI::App* command = app.add_subcommand("import", "Make a tape of another tool's trace");
  command->add_option("format", options->format, "the format of the trace, or `list`")
      ->required()
      ->option_text("FORMAT");
  command
      ->add_option("file", options->path,
                   "the trace: plain, or packed by gzip, zstd, lz4, xz, bzip2 or zip")
      ->option_text("FILE");
  add_output(command, "-o,--output", options->output,
             "the tape; must be given, unless FORMAT is `list`")
      ->option_text("TAPE");
  command->footer(
      "Example: heaptape import android camera.zip -o camera.tape\n"
      "`heaptape import list` says what each format lacks.");
  request.set_by(command, options, [](const recorder::ImportOptions& given, Console& console) {
    return given.format == "list" ? run_import_list(console) : run_import(given, console);
  });
}

void add_diff(CLI::App& app, Request& request) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "Compare two reports; exit 1 if a gate fails");
  command
      ->add_option("reports", options->paths,
                   "the report to compare with, or several of equal runs, then the report to "
                   "judge; with --baseline one report is enough")
      ->required()
      ->option_text("BASE.json... NEW.json");
  command
      ->add_option("--baseline", options->baseline,
                   "compare every run with the run of this label in the base")
      ->option_text("LABEL");
  command->add_flag("--strict", options->is_strict,
                    "also judge by the gates that docs/howto-ci.md lists");
  command->add_flag("--all", options->shows_all,
                    "every metric in the tables of text and Markdown, not only the important ones");
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
  add_output(command, "--html", options->html_path, "also write a page for a browser")
      ->option_text("FILE");
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
  add_output(command, "-o,--output", options->scenario.output,
             "the tape; must be given, unless NAME is `list`")
      ->option_text("TAPE");
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
  app.footer(
      "`heaptape COMMAND --help` has an example of each. `heaptape NAME` runs heaptape-NAME from "
      "the\n"
      "PATH: sweep and tune come with the Python package.");
  Request request;
  add_record(app, request);
  add_ctl(app, request);
  add_info(app, request);
  add_verify(app, request);
  add_recover(app, request);
  add_scrub(app, request);
  add_import(app, request);
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
  add_completion(app, request);
  add_man(app, request);
  Looks looks;
  add_looks(&app, looks);
  for (CLI::App* command : app.get_subcommands({})) add_looks(command, looks);
  if (auto action = external_command(command_names(app), argv + std::min(argc, 1))) return *action;
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
