// A recording from its start to its end: everything between the options of `heaptape record` and
// its last word.
#pragma once

#include <string>
#include <vector>

#include "recorder/collector/collector.h"
#include "recorder/collector/recorder_signals.h"
#include "recorder/collector/session_memory.h"

namespace heaptape::recorder {

struct RecordOptions {
  std::string tape_path;
  SessionOptions session;
  std::vector<std::string> command;  // not empty
};

// Starts the command and records it until it has ended. Fails, with nothing started or written,
// when the program cannot be recorded or the tape cannot be written; later failures are in the
// Recording.
Result<Recording> record(const RecordOptions& options, const RecorderSignals& signals);

}  // namespace heaptape::recorder
