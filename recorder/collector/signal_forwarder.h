// Passes the signals that `heaptape record` gets on to the program that it runs.
#pragma once

#include "base/descriptor.h"
#include "base/result.h"

namespace heaptape::recorder {

// A signal that somebody sent to this process alone is forwarded. One from a key of the terminal is
// not: it has reached the program already, which is in the same foreground group, unless it has a
// group of its own. But when a terminal hangs up, only the leader of its session is told: if that
// is this process, the program is told by it. recorder_signals() must be blocked in every thread.
// One thread uses it.
class SignalForwarder {
 public:
  static base::Result<SignalForwarder> open();

  // Readable when a signal came, or when a child of ours changed.
  int descriptor() const { return signals_.get(); }
  static constexpr int kNobody = -1;  // the program gets its own: it is our parent
  // Takes all signals that came and forwards those that are meant for `target`. Whether one came
  // that ends the recording: if `keeps_interrupts`, which a target with a group of its own has, it
  // is SIGINT, which is then not forwarded; if `target` is 0, any but SIGUSR1 and SIGUSR2. For
  // kNobody, signals are taken and dropped.
  bool forward_to(int target, bool keeps_interrupts = false);

 private:
  explicit SignalForwarder(base::Descriptor signals) : signals_(std::move(signals)) {}

  base::Descriptor signals_;
};

}  // namespace heaptape::recorder
