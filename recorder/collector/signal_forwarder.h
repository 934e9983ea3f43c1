// Passes the signals that `heaptape record` gets on to the program that it runs.
#pragma once

#include "base/descriptor.h"
#include "base/result.h"

namespace heaptape::recorder {

// The signals that the recorder keeps for itself.
struct OurSignals {
  bool interrupts = false;  // SIGINT: of a target with a group of its own
  int flush = 0;            // 0: none
};

// What signals asked the recorder to do.
struct AskedBySignal {
  bool end = false;    // end the recording
  bool flush = false;  // write the last calls
};

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
  // Takes all signals that came and forwards those that are meant for `target`, and not `ours`. If
  // `target` is 0, any but SIGUSR1 and SIGUSR2 ends the recording. For kNobody, signals that are
  // not ours are dropped.
  AskedBySignal forward_to(int target, OurSignals ours = {});

 private:
  explicit SignalForwarder(base::Descriptor signals) : signals_(std::move(signals)) {}

  base::Descriptor signals_;
};

}  // namespace heaptape::recorder
