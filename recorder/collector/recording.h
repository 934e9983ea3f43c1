// A whole recording: everything between the options of `heaptape record` and what it prints.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recorder/collector/background.h"
#include "recorder/collector/collector.h"
#include "recorder/collector/live_figures.h"
#include "recorder/collector/memory_watch.h"
#include "recorder/collector/recorder_signals.h"
#include "recorder/collector/session_memory.h"
#include "recorder/collector/target.h"

namespace heaptape::recorder {

// Behind the name of the first tape.
inline constexpr char kManifestSuffix[] = ".manifest.json";

struct RecordOptions {
  std::string tape_path;
  bool overwrites = false;  // an earlier recording of that name
  SessionOptions session;
  std::vector<std::string> command;  // not empty
  LiveWatcher watcher = {};          // none: nobody watches
  uint64_t backlog_bytes = Backlog::kDefaultBytes;
  RestWatcher rest_watcher = {};  // none: nobody watches
  StartAfter start_after = {};    // where session.awaits_start
  RecordingBounds bounds = {};
  std::optional<schema::KeepLast> keep_last = {};  // of each process; nothing: all calls
  bool keeps_on_disk = false;                      // with keep_last: in a file beside the tape
  FlushAt flush_at = {};                           // and flush_signal: with keep_last
  int flush_signal = 0;                            // to the recorder; 0: none
  bool waits_for_all = false;          // for all descendants of the program, orphans included
  bool detaches_on_interrupt = false;  // SIGINT ends the recording, and is not the program's
  Background* background = nullptr;    // not null: the program is our parent; outlives record()
  // Takes each interval that may be followed by another, when its tapes are complete, and says what
  // keeps another from beginning.
  std::function<void(const Recording&)> on_pause = {};
  std::function<void(const Error&)> on_error = {};
};

inline TargetGroup target_group(const RecordOptions& options) {
  return options.detaches_on_interrupt ? TargetGroup::kOwn : TargetGroup::kOurs;
}

// How a recording ended.
struct RecordingExit {
  std::optional<Recording> last;        // interval; nothing if on_pause() got that
  std::optional<TargetEnd> target_end;  // nothing: it runs on
  bool is_interrupted = false;          // a signal asked for the end, perhaps after it
};

// Runs the command and records it until it has ended, or a signal ends that: then the program, in
// target_group(), runs on. An error means that no tape was written and that the program never ran:
// it cannot be recorded or executed, or the tape cannot be written. Failures after its start are in
// the Recording.
Result<RecordingExit> record(const RecordOptions& options, const RecorderSignals& signals);

}  // namespace heaptape::recorder
