// The recorder of `heaptape exec`: a process behind the program, which has the pid that was
// started.
//
// A supervisor (systemd, a container's runtime) knows its service by that pid. So this process
// becomes the program, and the recorder is its child: one that no wait(2) of the program sees,
// since clone(2) made it without a signal for its end, and __WCLONE is needed for such a child. It
// must not end before the program: Linux sends SIGCHLD nevertheless if the parent has executed a
// program since (do_notify_parent() in kernel/signal.c, 6.18).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "recorder/collector/target.h"

namespace heaptape::recorder {

// In the recorder's process. It is in a session of its own, with all signals blocked, gets SIGCHLD
// when the program ends, unless that has changed its user, and has standard error of all
// descriptors of its parent.
class Background {
 public:
  // `parent`: a connected socket, from now on owned.
  Background(base::Descriptor parent, std::string command, int parent_pid)
      : parent_(std::move(parent)), command_(std::move(command)), parent_pid_(parent_pid) {}

  // Lets the parent become the program. An error if that cannot be executed. Once.
  base::Result<Target> start_parent(const TargetEnvironment& environment);
  // Closes standard error: a reader that waits for its end need not wait for the recorder.
  static void leave_standard_error();
  // Gives memory back and waits for the end of the program, which may take weeks.
  void wait_for_parent() const;

 private:
  base::Descriptor parent_;
  const std::string command_;
  const int parent_pid_;
};

// Records, and returns the exit code; or prints the error.
using BackgroundRecorder = std::function<int(base::Result<Background*> background)>;

// Becomes `command`, recorded by a new process that runs record() and ends with the code that it
// returns. Returns that code if the command was not executed: then record() has said why. An error
// if there is no such process, or it was killed. The caller has one thread.
base::Result<int> exec_recorded(const std::vector<std::string>& command,
                                const BackgroundRecorder& record);

}  // namespace heaptape::recorder
