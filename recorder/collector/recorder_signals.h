// The signals of `heaptape record`, which must neither die of what is meant for its program nor
// miss its end.
#pragma once

#include <signal.h>

namespace heaptape::recorder {

// The signals that a Doorman takes: ends of children, and what it forwards to the program.
sigset_t doorman_signals();

// While it lives, doorman_signals() are blocked in the calling thread (and in those that it
// starts), a file size limit is a full disk and not a death, and children wait to be asked for
// their status whatever our caller had set. Everything is put back afterwards.
class RecorderSignals {
 public:
  RecorderSignals();
  ~RecorderSignals();
  RecorderSignals(const RecorderSignals&) = delete;
  RecorderSignals& operator=(const RecorderSignals&) = delete;

  // For a child between fork and exec: everything as our caller had it.
  void restore_in_child() const;

 private:
  void put_back() const;

  sigset_t mask_;
  struct sigaction on_file_size_;
  struct sigaction on_child_;
};

}  // namespace heaptape::recorder
