// Commands that make a tape without running a program: recover, pack, scrub, import and scenario.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command_groups.h"
#include "cli/commands.h"
#include "cli/option_kinds.h"

namespace heaptape::cli {

namespace {

// For commands that write another tape from a tape.
void add_copy(CLI::App* command, std::string& path, std::string& output) {
  add_tape(command, path);
  add_output(command, "-o,--output", output, "the new tape; required")
      ->required()
      ->option_text("OUT");
}

}  // namespace

void add_recover(CLI::App& app, Request& request) {
  auto options = std::make_shared<RecoverOptions>();
  CLI::App* command =
      app.add_subcommand("recover", "Save what can be read of a damaged or unfinished tape");
  add_copy(command, options->path, options->output);
  command->footer("Example: heaptape recover run.tape.partial -o run.tape");
  request.set_by(command, options, run_recover);
}

void add_pack(CLI::App& app, Request& request) {
  auto options = std::make_shared<PackOptions>();
  CLI::App* command = app.add_subcommand(
      "pack", "Write the same tape in fewer bytes, with more time than a recorder has");
  add_copy(command, options->path, options->output);
  command->footer("Example: heaptape pack run.tape -o small.tape");
  request.set_by(command, options, run_pack);
}

void add_scrub(CLI::App& app, Request& request) {
  auto options = std::make_shared<ScrubOptions>();
  CLI::App* command = app.add_subcommand(
      "scrub", "Copy a tape without details of the machine, so that you can share it");
  add_copy(command, options->path, options->output);
  add_count(command, "--from", options->from, {.least = 1},
            "first call to keep; blocks that are live there are allocated at the beginning");
  add_count(command, "--to", options->to, {.least = 1}, "last call to keep");
  command->add_flag(
      "--hash-names", options->hash_names,
      "hash the names of files and of code generated at run time, and omit build ids");
  command->add_flag("--drop-settings", options->drop_settings,
                    "omit what the environment told allocators (MALLOC_CONF and the like)");
  command->footer("Example: heaptape scrub run.tape -o public.tape --to 1M");
  request.set_by(command, options, run_scrub);
}

void add_import(CLI::App& app, Request& request) {
  auto options = std::make_shared<recorder::ImportOptions>();
  CLI::App* command = app.add_subcommand("import", "Convert another tool's trace to a tape");
  command->add_option("format", options->format, "the format of the trace, or `list`")
      ->required()
      ->option_text("FORMAT");
  command
      ->add_option("file", options->path,
                   "the trace: plain, or compressed with gzip, zstd, lz4, xz, bzip2 or zip")
      ->option_text("FILE");
  add_output(command, "-o,--output", options->output, "the tape; required unless FORMAT is `list`")
      ->option_text("TAPE");
  command->footer(
      "Example: heaptape import android camera.zip -o camera.tape\n"
      "`heaptape import list` shows what each format lacks.");
  request.set_by(command, options, [](const recorder::ImportOptions& given, Console& console) {
    return given.format == "list" ? run_import_list(console) : run_import(given, console);
  });
}

void add_scenario(CLI::App& app, Request& request) {
  struct Options {
    scenarios::ScenarioOptions scenario;
    ScenarioDetail detail = ScenarioDetail::kNames;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("scenario", "Generate a tape of a heap with a known history");
  command->add_option("name", options->scenario.name, "the scenario, or `list`")
      ->required()
      ->option_text("NAME");
  command->add_option("--set", options->scenario.sets, "set a parameter; may be repeated")
      ->option_text("K=V...");
  add_output(command, "-o,--output", options->scenario.output,
             "the tape; required unless NAME is `list`")
      ->option_text("TAPE");
  command->add_flag_callback(
      "--verbose", [options] { options->detail = ScenarioDetail::kParameters; },
      "with `list`: also show the parameters");
  command->footer("Example: heaptape scenario fill --set count=100000 --set size=232 -o fill.tape");
  request.set_by(command, options, [](const Options& given, Console& console) {
    return given.scenario.name == "list" ? run_scenario_list(given.detail, console)
                                         : run_scenario(given.scenario, console);
  });
}

}  // namespace heaptape::cli
