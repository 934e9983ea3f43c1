// `heaptape record`.
#pragma once

#include <string>
#include <vector>

#include "recorder/collector/session_memory.h"

namespace heaptape::recorder {

struct RecordOptions {
  std::string tape_path;  // empty: named after the program
  SessionOptions session;
  std::vector<std::string> command;
};

// Runs the command to its end, recording it. Then ends this process as the command ended: same exit
// status or signal. Returns only when the recording could not begin, with the exit code 2; what was
// wrong is on standard error.
int run_record(const RecordOptions& options);

}  // namespace heaptape::recorder
