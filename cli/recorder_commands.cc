// The commands of the recorder, which is also a program of its own: record, exec, ctl, info and
// verify.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "cli/command_groups.h"
#include "cli/commands.h"
#include "cli/option_kinds.h"
#include "cli/stacks_option.h"

namespace heaptape::cli {
namespace {

using recorder::Follow;
using recorder::MapCalls;
using recorder::OnFull;

// The value of --start-after.
recorder::StartAfter parse_start(const std::string& text) {
  if (const auto time = base::parse_time(text); time && *time != 0) return {.time_ns = *time};
  if (const auto calls = base::parse_count(text); calls && *calls != 0) return {.calls = *calls};
  throw CLI::ValidationError("--start-after", "'" + text +
                                                  "' is neither a time, such as 1.5s or 10m, nor a "
                                                  "number of calls, such as 1000 or 1.5M");
}

// When the recording begins and ends, other than with the program.
void add_interval(CLI::App* command, recorder::RecordOptions& options) {
  command->add_flag("--paused", options.session.awaits_start,
                    "record nothing until `heaptape ctl PID start`");
  command
      ->add_option_function<std::string>(
          "--start-after",
          [&options](const std::string& text) { options.start_after = parse_start(text); },
          "record nothing for so long, for about so many calls, or until `heaptape ctl PID start`")
      ->option_text("TIME|N");
  recorder::RecordingBounds& bounds = options.bounds;
  add_time(command, "--duration", bounds.duration_ns,
           "end the recording after this time; the program runs on");
  add_count(command, "--max-events", bounds.calls, {.least = 1},
            "end the recording after so many calls; the program runs on");
  add_size(command, "--max-size", bounds.tape_bytes,
           "end the recording before the tapes together are larger, 1 MiB at least; the program "
           "runs on");
}

// The value of --keep-last, without where they are kept.
schema::KeepLast parse_keep_last(const std::string& text) {
  if (const auto time = base::parse_time(text); time && *time != 0) return {.time_ns = *time};
  const auto bytes = base::parse_quantity(text);
  if (bytes && *bytes >= recorder::kLeastTapeBound) return {.bytes = *bytes};
  throw CLI::ValidationError(
      "--keep-last", bytes
                         ? "'" + text + "' is less than a chunk of a tape needs: give at least 1MiB"
                         : "'" + text +
                               "' is neither a time, such as 90s or 10m, nor a size, such "
                               "as 64MiB");
}

void set_keep_last(const std::string& text, recorder::RecordOptions& options) {
  const size_t comma = text.find(',');
  const bool has_place = comma != std::string::npos;
  if (has_place && text.substr(comma) != ",disk") {
    throw CLI::ValidationError("--keep-last", "'" + text.substr(comma + 1) +
                                                  "' is no place for the last calls: type disk, "
                                                  "or nothing for memory");
  }
  options.keep_last = parse_keep_last(text.substr(0, comma));
  options.keeps_on_disk = has_place;
}

// The value of --flush-at.
recorder::FlushAt parse_flush_at(const std::string& text) {
  if (text.ends_with('%')) {
    const auto percent = base::parse_count(text.substr(0, text.size() - 1));
    if (percent && *percent >= 1 && *percent <= 99) {
      return {.share = static_cast<double>(*percent) / 100};
    }
  } else if (const auto bytes = base::parse_quantity(text)) {
    if (*bytes >= uint64_t{1} << 20) return {.bytes = *bytes};
    throw CLI::ValidationError("--flush-at",
                               "'" + text +
                                   "' is less than any program has: for a part of "
                                   "the memory limit, type a percentage, such as 90%");
  }
  throw CLI::ValidationError("--flush-at",
                             "'" + text +
                                 "' is neither a percentage of the memory limit from 1% to 99%, "
                                 "nor a size, such as 1.5GiB");
}

// The flight recorder.
void add_keep_last(CLI::App* command, recorder::RecordOptions& options) {
  command
      ->add_option_function<std::string>(
          "--keep-last", [&options](const std::string& text) { set_keep_last(text, options); },
          "keep only the last calls: this much tape for all processes together, or this much time; "
          "written when each process ends. Until then they are in memory or, with ,disk, in a file "
          "without a name beside the tape")
      ->option_text("SIZE|TIME[,disk]");
  command
      ->add_option_function<std::string>(
          "--flush-at",
          [&options](const std::string& text) { options.flush_at = parse_flush_at(text); },
          "also write them when memory comes near its limit: at this percentage of the control "
          "group's limit, or when the recorded processes have this much resident")
      ->option_text("PERCENT|SIZE");
  add_choice<int>(command, "--flush-on", options.flush_signal,
                  {{"HUP", SIGHUP}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}},
                  "also write them when the recorder gets this signal, which it then does not "
                  "forward");
}

// The tape, and what is recorded. `pid_help` says whose pid %p is.
void add_tape_options(CLI::App* command, recorder::RecordOptions& options,
                      const std::string& pid_help) {
  add_output(command, "-o,--output", options.tape_path,
             "the tape, with %n for the program's name, %t for the time (UTC), %p for the pid of " +
                 pid_help +
                 "; it must not exist (default: NAME.tape for a program NAME, or NAME.2.tape and "
                 "so on)")
      ->option_text("TAPE");
  command->add_flag("--force", options.overwrites, "write over an earlier recording");
  add_choice<Follow>(command, "--follow", options.session.follow,
                     {{"none", Follow::kNone}, {"fork", Follow::kFork}, {"all", Follow::kAll}},
                     "which child processes to record: all of them, forked ones until they execute "
                     "a program (fork), or none (default all)");
  add_choice<OnFull>(command, "--on-full", options.session.on_full,
                     {{"block", OnFull::kBlock}, {"drop", OnFull::kDrop}},
                     "when the recorder falls behind: block the program, or drop calls and count "
                     "them (default block)");
  add_choice<MapCalls>(command, "--mmap", options.session.map_calls,
                       {{"on", MapCalls::kRecorded}, {"off", MapCalls::kIgnored}},
                       "record calls of mmap and the like, which show who has the memory that is "
                       "not malloc's (default on)");
  add_size(command, "--backlog", options.backlog_bytes,
           "memory for recorded calls that are not on a tape yet; when it is full, --on-full says "
           "what happens (default 256MiB)");
  add_interval(command, options);
  add_keep_last(command, options);
}

void add_wait(CLI::App* command, bool& waits_for_all, const std::string& help) {
  add_choice<bool>(command, "--wait", waits_for_all, {{"target", false}, {"all", true}}, help);
}

void add_stacks(CLI::App* command, const std::shared_ptr<RecordCommandOptions>& given) {
  command
      ->add_option_function<std::string>(
          "--stacks", [given](const std::string& text) { set_stacks(text, given->record.session); },
          "record the call stack of each allocation, up to N frames: dwarf uses the unwind tables "
          "that every program has; fp uses frame pointers, for programs built with "
          "-fno-omit-frame-pointer; every=512KiB samples stacks at random, about one per 512 KiB "
          "requested, at almost no cost; size=48+1KiB-4KiB records those of all calls for these "
          "sizes, and of no others without every= (default none; with dwarf or fp: depth=64, all "
          "calls)")
      ->option_text("none|fp|dwarf[,depth=N][,every=BYTES][,size=SIZES]");
}

void add_command(CLI::App* command, std::vector<std::string>& words) {
  command->add_option("command", words, "the command and its arguments, after --")
      ->required()
      ->option_text("CMD...");
  command->positionals_at_end();
}

}  // namespace

void add_record(CLI::App& app, Request& request) {
  auto given = std::make_shared<RecordCommandOptions>();
  recorder::RecordOptions& options = given->record;
  CLI::App* command =
      app.add_subcommand("record", "Run a command and record every call it makes to malloc");
  add_tape_options(command, options, "heaptape");
  add_wait(command, options.waits_for_all,
           "when to end the recording by itself: at the end of the command, or of all its "
           "descendants, daemons included (default target)");
  command->add_flag("--detach-on-interrupt", options.detaches_on_interrupt,
                    "SIGINT (Ctrl-C) ends the recording and leaves the program running; it gets a "
                    "process group of its own, and cannot read from the terminal");
  add_stacks(command, given);
  command->add_flag(
      "--live", given->is_live,
      "show live bytes, growth and recording progress once a second, on standard error");
  add_command(command, options.command);
  command->footer(
      "Example: heaptape record -o run.tape -- ./server --flags\n"
      "The exit status is that of the command. Children get tapes of their own;\n"
      "TAPE.manifest.json lists them.");
  request.set_by(command, given, run_record);
}

void add_exec(CLI::App& app, Request& request) {
  auto given = std::make_shared<RecordCommandOptions>();
  recorder::RecordOptions& options = given->record;
  options.waits_for_all = true;
  CLI::App* command = app.add_subcommand(
      "exec", "Run a service under its own pid, and record it from the background");
  add_tape_options(command, options, "the command");
  add_wait(command, options.waits_for_all,
           "when to end the recording: at the end of the command, or of all its recorded "
           "descendants, daemons included (default all)");
  add_stacks(command, given);
  add_command(command, options.command);
  command->footer(
      "Example: heaptape exec -o '/var/log/tapes/%n.%t.tape' -- ./server --flags\n"
      "The command has the pid that was started, as supervisors expect. The recorder\n"
      "ignores SIGTERM and ends by itself; `heaptape ctl PID stop` ends the recording.");
  request.set_by(command, given, run_exec);
}

void add_ctl(CLI::App& app, Request& request) {
  auto options = std::make_shared<CtlOptions>();
  CLI::App* command = app.add_subcommand(
      "ctl",
      "Steer a recording while it runs: start it, mark a moment, look, flush, stop, start again");
  command
      ->add_option("target", options->target,
                   "the pid of a recorded process, or the tape that -o named")
      ->required()
      ->option_text("PID|TAPE");
  command
      ->add_option("verb", options->verb,
                   "mark: put a mark on the tape of PID; start: begin a recording that waits for "
                   "it, or record on after a stop, onto new tapes; status: show what is recorded; "
                   "flush: put all calls so far into the files; stop: end the recording, the "
                   "program runs on")
      ->required()
      ->option_text("mark|start|status|flush|stop");
  command
      ->add_option("name", options->name,
                   "the name of the moment to mark: letters, digits, '-', '_' and '.'")
      ->option_text("NAME");
  command->footer(
      "Example: heaptape ctl 1234 mark loaded\n"
      "Then: heaptape explain run.tape -a glibc --at mark:loaded");
  request.set_by(command, options, run_ctl);
}

void add_info(CLI::App& app, Request& request) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand(
      "info", "Show what a tape is a recording of, how it ended, and what was lost");
  command->add_option("tape", options->path, "a tape, or the manifest of a recording")
      ->required()
      ->option_text("TAPE");
  add_json(command, options->format);
  ProcessFilter& processes = options->processes;
  add_choice<std::optional<ProcessOrder>>(
      command, "--sort", processes.order,
      {{"memory", ProcessOrder::kMemory},
       {"calls", ProcessOrder::kCalls},
       {"pid", ProcessOrder::kPid},
       {"title", ProcessOrder::kTitle}},
      "order the processes of a manifest (default memory: most of malloc first)");
  command
      ->add_option("--contains", processes.text,
                   "list only processes with this in their title, program or tape's name")
      ->option_text("TEXT");
  add_count(command, "--min-events", processes.min_events, {},
            "list only processes with at least so many calls (default 0)");
  command->add_flag("--live", options->live,
                    "also read the tapes listed for their live bytes at the peak and at the end; "
                    "the highest peak comes first, unless --sort says otherwise");
  command->footer(
      "Example: heaptape info run.tape --json\n"
      "The processes of a recording: heaptape info run.tape.manifest.json");
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

}  // namespace heaptape::cli
