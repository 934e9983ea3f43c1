// The program being recorded: starting it under the preload library, and how it ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "recorder/collector/recorder_signals.h"

namespace heaptape::recorder {

// The process group of the program: ours, or one of its own, which the keys of a terminal do not
// reach.
enum class TargetGroup : uint8_t { kOurs, kOwn };

struct Target {
  int pid = 0;
  bool is_our_child = true;  // else our parent: recorder/collector/background.h
};

// What makes a program one that is recorded.
struct TargetEnvironment {
  std::string preload_library;  // its path
  std::string session_value;    // of kSessionVariable
};

// A command with our caller's environment and `environment`.
class TargetProgram {
 public:
  TargetProgram(const std::vector<std::string>& command, const TargetEnvironment& environment);
  TargetProgram(const TargetProgram&) = delete;
  TargetProgram& operator=(const TargetProgram&) = delete;

  // Executes it in this process. Returns errno if that fails. Allocates nothing: after a fork, the
  // lock of an allocator may be held for ever.
  int execute() const;

 private:
  std::vector<std::string> words_;
  std::vector<std::string> variables_;
  std::vector<char*> argv_;
  std::vector<char*> envp_;
};

// Starts `command` in a child of ours. Returns its pid; an error when the program cannot be
// executed.
base::Result<int> start_target(const std::vector<std::string>& command,
                               const TargetEnvironment& environment, const RecorderSignals& signals,
                               TargetGroup group);

// How a program ended, from wait(2).
struct TargetEnd {
  bool signalled = false;
  int status = 0;  // exit status, or number of the signal; -1: not known, of a parent
};

// How the target ended; nothing while it runs.
std::optional<TargetEnd> poll_target(const Target& target);

// Takes the ends of our children but `target`: of orphans, where we are their reaper. Whether a
// child is left.
bool reap_orphans(int target);

// Ends this process as the target ended: with its exit status, or by its signal, but without a
// second core dump.
[[noreturn]] void end_like(const TargetEnd& end);

// The path of libheaptape-interposer.so, installed or in the build folder.
base::Result<std::string> find_preload_library();

}  // namespace heaptape::recorder
