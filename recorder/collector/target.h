// The program being recorded: starting it under the preload library, and how it ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "recorder/collector/recorder_signals.h"

namespace heaptape::recorder {

// Starts `command` with the preload library and the session in its environment, everything else as
// the caller has it. Fails when the program cannot be executed. Returns its pid.
base::Result<int> start_target(const std::vector<std::string>& command,
                               const std::string& preload_library, const std::string& session_value,
                               const RecorderSignals& signals);

// How a program ended, as wait(2) has it.
struct TargetEnd {
  bool signalled = false;
  int status = 0;  // exit status, or number of the signal
};

// Nothing while it still runs.
std::optional<TargetEnd> poll_target(int pid);

// Ends this process the way the target ended: same exit status, or same signal (without a second
// core dump).
[[noreturn]] void end_like(const TargetEnd& end);

// The installed or built libheaptape-interposer.so.
base::Result<std::string> find_preload_library();

}  // namespace heaptape::recorder
