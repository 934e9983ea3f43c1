#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/display_text.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/live_screen.h"

namespace heaptape::cli {
namespace {

constexpr size_t kMaxListed = 12;
constexpr size_t kMaxNamed = 3;  // unrecorded programs, in one line

std::vector<schema::InnerAllocator> inner_allocators(const schema::Manifest& manifest) {
  std::vector<schema::InnerAllocator> inner;
  for (const schema::ManifestUnrecorded& entry : manifest.unrecorded) {
    if (!entry.families.empty()) inner.push_back({entry.program, entry.families});
  }
  return inner;
}

// The tapes of a recording; marks that of the program which the command became.
std::string summary_text(const schema::Manifest& recorded, const std::string& manifest_path) {
  const auto& processes = recorded.processes;
  const schema::ManifestProcess& command = processes[successors_of_command(recorded).back()];
  std::string text = "heaptape: recorded " + std::to_string(processes.size()) + " process" +
                     (processes.size() == 1 ? "" : "es") + "\n";
  const std::filesystem::path folder = std::filesystem::path(manifest_path).parent_path();
  size_t seen = 0;
  size_t omitted = 0;
  for (const schema::ManifestProcess& process : processes) {
    if (++seen > kMaxListed && &process != &command) {
      ++omitted;
      continue;
    }
    text += base::format_text("  %c %12llu events %12llu bytes  ", &process == &command ? '*' : ' ',
                              static_cast<unsigned long long>(process.events),
                              static_cast<unsigned long long>(process.bytes)) +
            (folder / process.tape).string() + "\n";
  }
  if (omitted != 0) {
    text += "    and " + base::grouped(omitted) + " more; `" +
            base::command_text({"heaptape", "info", manifest_path}) + "` lists all\n";
  }
  const auto largest = std::ranges::max_element(processes, {}, [](const auto& process) {
    return process.largest_sample ? process.largest_sample->resident_bytes : 0;
  });
  if (const auto& sample = largest->largest_sample) {
    text += "most memory: " + schema::memory_text(*sample, inner_allocators(recorded)) +
            (processes.size() == 1 ? "" : ", " + largest->tape) + "\n";
  }
  return text;
}

// "not recorded: 3 x /bin/busybox (statically linked), ...; not seen: calls to jemalloc inside
// '/usr/bin/ruff'", in one line; empty if everything was recorded.
std::string unrecorded_text(const schema::Manifest& manifest) {
  std::string text;
  size_t named = 0;
  size_t others = 0;
  for (const schema::ManifestUnrecorded& entry : manifest.unrecorded) {
    if (!entry.families.empty()) continue;
    if (named == kMaxNamed) {
      ++others;
    } else {
      text += (named++ == 0 ? "not recorded: " : ", ") + base::grouped(entry.times) + " x " +
              base::display_text(entry.program) + " (" + entry.reason + ")";
    }
  }
  if (others != 0) text += " and " + base::grouped(others) + " more";
  const auto inner = inner_allocators(manifest);
  if (inner.empty()) return text;
  return text + (text.empty() ? "" : "; ") + "not seen: " + schema::inner_calls_text(inner);
}

std::string manifest_path_of(const recorder::RecordOptions& options) {
  return options.tape_path + recorder::kManifestSuffix;
}

base::Status write_manifest(const schema::Manifest& manifest, const std::string& path) {
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string json, schema::to_json(manifest));
  return base::write_file(path, json);
}

// For a recording by frame pointers.
void advise(const recorder::RingMerge::StackCounts& stacks, Console& console) {
  constexpr uint64_t kFewStacks = 4;
  if (stacks.stacks < kFewStacks || stacks.that_end_at_once * 2 < stacks.stacks) return;
  const double share =
      static_cast<double>(stacks.that_end_at_once) / static_cast<double>(stacks.stacks);
  console.print_if_watched(
      "heaptape: note: " + base::format_text("%.0f%%", 100 * share) +
      " of the stacks end after a frame or two: the program, or one of its libraries, "
      "keeps no frame pointers; try --stacks dwarf\n");
}

// "after 2.00 s", if the recording ended before its program.
std::string end_text(recorder::RecordingEnd end, const recorder::RecordingBounds& bounds) {
  switch (end) {
    case recorder::RecordingEnd::kOfProgram:
      break;
    case recorder::RecordingEnd::kDuration:
      return "after " + base::duration_text(static_cast<double>(bounds.duration_ns));
    case recorder::RecordingEnd::kCalls:
      return "after " + base::counted(bounds.calls, "call");
    case recorder::RecordingEnd::kTapeBytes:
      return "before the tapes had " + base::bytes_text(bounds.tape_bytes);
    case recorder::RecordingEnd::kRequest:
      return "because `heaptape ctl` stopped it";
    case recorder::RecordingEnd::kInterrupt:
      return "at a signal";
  }
  return "with its program";
}

// `recorded` has the tapes of the interval only.
void report(const recorder::Recording& recording, const schema::Manifest& recorded,
            const recorder::RecordOptions& options, const base::Status& manifest_status,
            Console& console) {
  for (const std::string& failure : recording.failures) console.print_error(failure);
  uint64_t lost = 0;
  for (const auto& process : recorded.processes) lost += process.lost_events;
  if (lost != 0 && recording.failures.empty()) {
    console.print_error(base::counted(lost, "call") + (lost == 1 ? " was" : " were") +
                        " lost; `heaptape info TAPE` says how many each process lost");
  }
  if (recorded.processes.empty()) {
    const std::string text = unrecorded_text(recorded);
    if (!text.empty()) console.print_error(text);
    if (recording.end != recorder::RecordingEnd::kOfProgram) {
      return console.print_error("no tape: " + base::quoted(options.command[0]) +
                                 " had not called malloc when the recording ended " +
                                 end_text(recording.end, options.bounds));
    }
    console.print_error("no tape: heaptape saw no call to malloc by '" + options.command[0] +
                        "': it made none, or runs nothing that is dynamically linked");
    return;
  }
  if (!manifest_status.ok()) console.print_error(manifest_status.error().message);
  const std::string manifest_path = manifest_path_of(options);
  const std::string text = unrecorded_text(recorded);
  if (!text.empty()) console.print_error(text + "; " + manifest_path + " lists all");
  const recorder::SessionOptions& session = options.session;
  if (session.stack_frames != 0 && session.unwinding == recorder::Unwinding::kFramePointers) {
    advise(recording.stack_counts, console);
  }
  // In the background, a shell may have printed its prompt already.
  if (options.background == nullptr) {
    console.print_if_watched(summary_text(recorded, manifest_path));
  }
}

// Says why the recording ended, and what goes on: that is on no tape.
void note_rest(const recorder::Recording& recording, const recorder::RecordOptions& options,
               Console& console) {
  constexpr size_t kMostNamed = 4;
  std::vector<std::string> running;
  for (const recorder::ProcessIdentity& process : recording.still_running) {
    const std::string name = std::filesystem::path(process.executable).filename();
    running.push_back(base::display_text(name) + " (process " + std::to_string(process.pid) + ")");
  }
  const bool is_whole = recording.end == recorder::RecordingEnd::kOfProgram ||
                        recording.end == recorder::RecordingEnd::kRequest;
  if (recording.manifest.processes.size() == recording.first_process) return;  // report() said it
  if (!recording.has_started) {
    console.print_error("the recording ended " + end_text(recording.end, options.bounds) +
                        ", before its start: its tapes have no calls");
  }
  if (running.empty() && recording.target_end && is_whole) return;
  std::string text = "the recording ended " + end_text(recording.end, options.bounds);
  for (size_t i = 0; i < running.size() && i < kMostNamed; ++i) {
    text += (i == 0 ? "; still running: " : ", ") + running[i];
  }
  if (running.size() > kMostNamed) {
    text += " and " + std::to_string(running.size() - kMostNamed) + " more";
  }
  if (recording.end == recorder::RecordingEnd::kOfProgram && !options.waits_for_all) {
    text += "; --wait all records them to their ends";
  }
  console.print_note(text);
}

// Without a screen on return, and while the recording pauses.
base::Result<recorder::RecordingExit> record_live(const recorder::RecordOptions& options,
                                                  const recorder::RecorderSignals& signals) {
  HEAPTAPE_ASSIGN_OR_RETURN(auto screen, LiveScreen::open(STDERR_FILENO));
  recorder::RecordOptions watched = options;
  watched.watcher = [&screen](const recorder::LiveFigures& figures) {
    if (screen == nullptr) {
      auto again = LiveScreen::open(STDERR_FILENO);
      if (!again.ok()) return;
      screen = std::move(*again);
    }
    screen->show(figures);
  };
  watched.on_pause = [&](const recorder::Recording& interval) {
    screen.reset();
    options.on_pause(interval);
  };
  return recorder::record(watched, signals);
}

// NAME.tape, or NAME.2.tape and so on, which no recording has or had.
std::string free_tape_path(const std::string& program) {
  const auto is_taken = [](const std::string& path) {
    for (const char* const suffix : {"", recorder::kManifestSuffix, ".partial"}) {
      std::error_code ignored;
      const auto status = std::filesystem::symlink_status(path + suffix, ignored);
      if (std::filesystem::exists(status)) return true;
    }
    return false;
  };
  std::string path = program + ".tape";
  for (int i = 2; is_taken(path); ++i) path = program + "." + std::to_string(i) + ".tape";
  return path;
}

// A sentence about options that exclude or need each other; empty: all is well.
std::string misuse(const recorder::RecordOptions& options) {
  const bool writes_on_occasion = options.flush_at.any() || options.flush_signal != 0;
  if (writes_on_occasion && !options.keep_last) {
    return "--flush-at and --flush-on need --keep-last: add it, such as --keep-last 64MiB";
  }
  if (options.keep_last && options.bounds.tape_bytes != UINT64_MAX) {
    return "give either --keep-last, which drops the oldest calls, or --max-size, which ends the "
           "recording";
  }
  return "";
}

// Checks the options and chooses the tape's path. On failure prints why, and returns false.
bool resolve_tape_path(recorder::RecordOptions& options, Console& console) {
  if (const std::string text = misuse(options); !text.empty()) {
    console.print_error(text);
    return false;
  }
  if (options.bounds.tape_bytes < recorder::kLeastTapeBound) {
    console.print_error("--max-size must be at least " +
                        base::bytes_text(recorder::kLeastTapeBound) +
                        ": tapes are written in chunks");
    return false;
  }
  const std::string program = std::filesystem::path(options.command[0]).filename();
  const auto path = options.tape_path.empty()
                        ? base::Result<std::string>(free_tape_path(program))
                        : recorder::expand_tape_path(options.tape_path, program);
  if (!path.ok()) {
    console.print_error(path.error().message);
    return false;
  }
  options.tape_path = *path;
  options.session.awaits_start |= options.start_after != recorder::StartAfter();
  return true;
}

void note_copies(const recorder::Recording& recording, Console& console) {
  const std::string last = recorder::copy_path(recording.tape_path, recording.copies);
  std::error_code ignored;
  if (recording.copies == 0 || !std::filesystem::exists(last, ignored)) return;
  console.print_note("the last calls were also written before the end, the last time to " + last);
}

// Completes the files of an interval that has ended, tells those who asked for its end, and says
// what there is to say: last, because nobody may read it.
void complete(const recorder::Recording& recording, const recorder::RecordOptions& options,
              Console& console) {
  base::Status status;
  if (!recording.manifest.processes.empty()) {
    status = write_manifest(recording.manifest, manifest_path_of(options));
  }
  recorder::tell_stopped(recording);
  schema::Manifest recorded = recording.manifest;
  recorded.processes.erase(
      recorded.processes.begin(),
      recorded.processes.begin() + static_cast<ptrdiff_t>(recording.first_process));
  report(recording, recorded, options, status, console);
  note_rest(recording, options, console);
  note_copies(recording, console);
}

// Does the same, behind `prepare`, for those that another may follow.
void complete_in_pauses(recorder::RecordOptions& options, Console& console,
                        const std::function<void()>& prepare) {
  options.on_pause = [&options, &console, prepare](const recorder::Recording& interval) {
    prepare();
    complete(interval, options, console);
  };
  options.on_error = [&console](const base::Error& error) { console.print_error(error.message); };
}

}  // namespace

int run_record(const RecordCommandOptions& given, Console& console) {
  recorder::RecordOptions options = given.record;
  if (!resolve_tape_path(options, console)) return kExitUnusable;
  std::optional<Progress> progress;
  if (!given.is_live) {
    options.rest_watcher = [&](double share) {
      if (!progress) progress.emplace(console, "writing the tape");
      progress->show(share);
    };
  }
  complete_in_pauses(options, console, [&progress] { progress.reset(); });
  const recorder::RecorderSignals signals;
  const auto ended =
      given.is_live ? record_live(options, signals) : recorder::record(options, signals);
  progress.reset();
  if (!ended.ok()) return console.fail(ended.error());
  if (ended->last) complete(*ended->last, options, console);
  const bool is_left = ended->is_interrupted && options.detaches_on_interrupt;
  if (is_left || !ended->target_end) return kExitDone;
  recorder::end_like(*ended->target_end);
}

int run_exec(const RecordCommandOptions& given, Console& console) {
  recorder::RecordOptions options = given.record;
  if (!resolve_tape_path(options, console)) return kExitUnusable;
  const auto in_background = [&](base::Result<recorder::Background*> background) {
    if (!background.ok()) return console.fail(background.error());
    options.background = *background;
    {
      complete_in_pauses(options, console, [] {});
      const recorder::RecorderSignals signals;
      const auto ended = recorder::record(options, signals);
      if (!ended.ok()) return console.fail(ended.error());
      if (ended->last) complete(*ended->last, options, console);
    }
    (*background)->wait_for_parent();
    return kExitDone;
  };
  const auto code = recorder::exec_recorded(options.command, in_background);
  return code.ok() ? *code : console.fail(code.error());
}

}  // namespace heaptape::cli
