#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "base/quantity.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace heaptape::cli {
namespace {

using recorder::Follow;
using recorder::OnFull;
using recorder::RecordOptions;
using replayer::DiffFormat;
using schema::TextFormat;

template <typename Value>
CLI::Option* add_choice(CLI::App* command, const std::string& name, Value& value,
                        const std::map<std::string, Value>& choices, const std::string& help) {
  std::string names;
  for (const auto& [choice, unused] : choices) names += (names.empty() ? "" : "|") + choice;
  const auto pick = [choices, names](std::string& text) {
    const auto choice = choices.find(CLI::detail::to_lower(text));
    if (choice == choices.end()) return "'" + text + "' is none of " + names;
    text = std::to_string(static_cast<int>(choice->second));  // as CLI11 reads enumerations
    return std::string();
  };
  return command->add_option(name, value, help)
      ->transform(CLI::Validator(pick, ""))
      ->option_text(names);
}

// CLI11 by itself would take -1, and what is greater, for the greatest number there is.
void add_count(CLI::App* command, const std::string& name, uint64_t& value,
               const std::string& help) {
  const auto pick = [](std::string& text) {
    const auto count = base::parse_count(text);
    if (!count) return "'" + text + "' is not a count, such as 1000, 10k or 1.5M";
    text = std::to_string(*count);
    return std::string();
  };
  command->add_option(name, value, help)->transform(CLI::Validator(pick, ""))->option_text("N");
}

void add_record(CLI::App& app, Action& action) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command =
      app.add_subcommand("record", "Run a command and record every call it makes to malloc");
  command
      ->add_option("-o,--output", options->tape_path,
                   "the tape (default: NAME.tape for a program NAME)")
      ->option_text("TAPE");
  add_choice<Follow>(
      command, "--follow", options->session.follow,
      {{"none", Follow::kNone}, {"fork", Follow::kFork}, {"all", Follow::kAll}},
      "children to record: none, those made by fork, or also what they execute (default all)");
  add_choice<OnFull>(command, "--on-full", options->session.on_full,
                     {{"block", OnFull::kBlock}, {"drop", OnFull::kDrop}},
                     "when the recorder falls behind: let the program wait, or lose calls and "
                     "count them (default block)");
  command->add_option("command", options->command, "the command and its arguments, after --")
      ->required()
      ->option_text("CMD...");
  command->positionals_at_end();
  command->footer(
      "Example: heaptape record -o run.tape -- ./server --flags\n"
      "The exit status is that of the command. Children get tapes of their own;\n"
      "TAPE.manifest.json lists them.");
  command->callback(
      [options, &action] { action = [options] { return run_record(*options, std::cerr); }; });
}

void add_tape_commands(CLI::App& app, Action& action) {
  struct Options {
    std::string tape;
    std::string output;
    bool json = false;
    DumpOptions dump;
  };
  auto options = std::make_shared<Options>();
  const auto add = [&](const char* name, const char* help, const char* example, auto run) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("tape", options->tape, "the tape")->required()->option_text("TAPE");
    command->footer(std::string("Example: heaptape ") + example);
    command->callback(
        [options, run, &action] { action = [options, run] { return run(*options); }; });
    return command;
  };
  add("info", "Say what a tape is of, and what its recorder noted", "info run.tape",
      [](const Options& o) { return run_info(o.tape, std::cout, std::cerr); });
  add("verify", "Read every byte; exit 1 if anything is damaged or was lost", "verify run.tape",
      [](const Options& o) { return run_verify(o.tape, std::cout, std::cerr); });
  add("recover", "Save what can be read of a damaged or unfinished tape",
      "recover run.tape.partial -o run.tape",
      [](const Options& o) { return run_recover(o.tape, o.output, std::cout, std::cerr); })
      ->add_option("-o,--output", options->output, "the new tape")
      ->required()
      ->option_text("OUT");
  add("stats", "Count the calls of a tape", "stats run.tape --json", [](const Options& o) {
    return run_stats(o.tape, o.json, std::cout, std::cerr);
  })->add_flag("--json", options->json, "as JSON");
  CLI::App* dump = add("dump", "Write the events as text, one a line",
                       "dump run.tape --from 1000 --to 1020", [](const Options& o) {
                         DumpOptions dump_options = o.dump;
                         dump_options.path = o.tape;
                         return run_dump(dump_options, std::cout, std::cerr);
                       });
  add_count(dump, "--from", options->dump.from, "number of the first call, from 1");
  add_count(dump, "--to", options->dump.to, "number of the last call");
  add_choice<TextFormat>(dump, "--format", options->dump.format,
                         {{"text", TextFormat::kText}, {"ndjson", TextFormat::kNdjson}},
                         "default text");
}

void add_replay(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReplayCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "replay", "Replay a tape on allocators and report what became of the memory");
  command->add_option("tape", options->tape_path, "the tape")->required()->option_text("TAPE");
  command
      ->add_option("-a,--allocator", options->specs,
                   "[label=]ALLOCATOR[:OPTION=VALUE,...] [ENV=VALUE...], quoted; may be repeated; "
                   "see `heaptape allocators`")
      ->required()
      ->option_text("SPEC...");
  command->add_option("-o,--output", options->report_path, "write the report as JSON")
      ->option_text("REPORT.json");
  command->add_option("--csv", options->csv_path, "write the timeline as CSV")->option_text("FILE");
  command->add_option("--samples", options->replay.samples, "points on the timeline (default 256)")
      ->check(CLI::Range(1u, 1'000'000u).description(""))
      ->option_text("N");
  add_count(command, "--until", options->replay.until, "stop after this many calls");
  add_choice<allocators::Touch>(
      command, "--touch", options->replay.touch,
      {{"none", allocators::Touch::kNone},
       {"page", allocators::Touch::kPage},
       {"all", allocators::Touch::kAll}},
      "what to write of each block: every byte, nothing, or a byte a page (default page)");
  command->footer(
      "Example: heaptape replay run.tape -a recorded -a glibc -a 'purge=jemalloc "
      "MALLOC_CONF=dirty_decay_ms:0' -o report.json");
  command->callback([options, &action] {
    action = [options] { return run_replay(*options, std::cout, std::cerr); };
  });
  CLI::App* allocators =
      app.add_subcommand("allocators", "List the allocators that can be replayed on");
  allocators->footer("Example: heaptape allocators");
  allocators->callback([&action] { action = [] { return run_allocators(std::cout, std::cerr); }; });
}

void add_diff(CLI::App& app, Action& action) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "Compare two reports; exit 1 if a gate fails");
  command->add_option("base", options->base_path, "the report to compare with")
      ->required()
      ->option_text("BASE.json");
  command->add_option("new", options->new_path, "the report to judge")
      ->required()
      ->option_text("NEW.json");
  command->add_option("--run", options->run, "compare only the run of this label")
      ->option_text("LABEL");
  command->add_option("--fail-if", options->fail_if, "METRIC OP VALUE; may be repeated")
      ->option_text("EXPR...");
  add_choice<DiffFormat>(command, "--format", options->format,
                         {{"text", DiffFormat::kText},
                          {"markdown", DiffFormat::kMarkdown},
                          {"json", DiffFormat::kJson},
                          {"junit", DiffFormat::kJunit}},
                         "default text");
  command->footer(
      "Example: heaptape diff main.json branch.json --fail-if 'peak.committedBytes>+5%'");
  command->callback([options, &action] {
    action = [options] { return run_diff(*options, std::cout, std::cerr); };
  });
}

void add_scenario(CLI::App& app, Action& action) {
  struct Options {
    scenarios::ScenarioOptions scenario;
    bool verbose = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("scenario", "Write a tape of a heap whose story is known");
  command->add_option("name", options->scenario.name, "the scenario, or `list`")
      ->required()
      ->option_text("NAME");
  command->add_option("--set", options->scenario.sets, "a parameter; may be repeated")
      ->option_text("K=V...");
  command->add_option("-o,--output", options->scenario.output, "the tape")->option_text("TAPE");
  command->add_flag("--verbose", options->verbose, "list the parameters of each, too");
  command->footer("Example: heaptape scenario fill --set count=100000 --set size=232 -o fill.tape");
  command->callback([options, &action] {
    action = [options] {
      if (options->scenario.name == "list") {
        return run_scenario_list(options->verbose, std::cout, std::cerr);
      }
      return run_scenario(options->scenario, std::cout, std::cerr);
    };
  });
}

}  // namespace

Action parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Record every malloc call of a real run; replay it on any allocator.", "heaptape");
  app.set_version_flag("--version", std::string("heaptape ") + base::kVersion);
  app.require_subcommand(0, 1);  // none: told below, after words that are no command
  app.footer("`heaptape COMMAND --help` has an example of each.");
  Action action = [] { return complain(std::cerr, "a command is missing; see `heaptape --help`"); };
  add_record(app, action);
  add_tape_commands(app, action);
  add_replay(app, action);
  add_diff(app, action);
  add_scenario(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    const int exit_code = app.exit(success);
    return [exit_code] { return exit_code; };
  } catch (const CLI::ParseError& error) {
    std::string command = "heaptape";
    for (const CLI::App* const used : app.get_subcommands()) command += " " + used->get_name();
    const std::string sentence = std::string(error.what()) + "; see `" + command + " --help`";
    return [sentence] { return complain(std::cerr, sentence); };
  }
  return action;
}

}  // namespace heaptape::cli
