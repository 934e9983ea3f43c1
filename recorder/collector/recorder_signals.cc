#include "recorder/collector/recorder_signals.h"

#include <pthread.h>
#include <time.h>

#include <initializer_list>

namespace heaptape::recorder {
namespace {

void set_disposition(int signal, void (*handler)(int), struct sigaction* before) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigaction(signal, &action, before);
}

}  // namespace

sigset_t recorder_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    sigaddset(&set, signal);
  }
  return set;
}

RecorderSignals::RecorderSignals() {
  const sigset_t set = recorder_signals();
  pthread_sigmask(SIG_BLOCK, &set, &mask_);
  set_disposition(SIGXFSZ, SIG_IGN, &on_file_size_);
  // If it stays ignored, as some callers leave it, the kernel forgets how children ended.
  set_disposition(SIGCHLD, SIG_DFL, &on_child_);
}

RecorderSignals::~RecorderSignals() {
  // What came for us meanwhile was for the program, which got its own copy.
  const sigset_t set = recorder_signals();
  const timespec at_once{};
  while (sigtimedwait(&set, nullptr, &at_once) > 0) {
  }
  put_back();
}

void RecorderSignals::restore_in_child() const {
  put_back();
}

void RecorderSignals::put_back() const {
  sigaction(SIGXFSZ, &on_file_size_, nullptr);
  sigaction(SIGCHLD, &on_child_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace heaptape::recorder
