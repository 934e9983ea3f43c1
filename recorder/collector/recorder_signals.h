// The signals of `heaptape record`, which must not die of what is meant for its program and must
// not miss that program's end.
#pragma once

#include <signal.h>

namespace heaptape::recorder {

// The signals that a SignalForwarder takes: the ends of children, and what it passes on.
sigset_t recorder_signals();

// While it lives: recorder_signals() are blocked in the calling thread, and in the threads that it
// starts; reaching the limit on file size (SIGXFSZ) is an error of write(2) and kills nobody; a
// child's status is kept until we ask for it, also if our caller ignored SIGCHLD. The destructor
// puts everything back, and drops the signals that came for us: the program got its own.
class RecorderSignals {
 public:
  RecorderSignals();
  ~RecorderSignals();
  RecorderSignals(const RecorderSignals&) = delete;
  RecorderSignals& operator=(const RecorderSignals&) = delete;

  // Puts everything back, in a child between fork and exec.
  void restore_in_child() const;

 private:
  void put_back() const;

  sigset_t mask_;
  struct sigaction on_file_size_;
  struct sigaction on_child_;
};

}  // namespace heaptape::recorder
