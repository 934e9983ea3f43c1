#include "recorder/collector/signal_forwarder.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "recorder/collector/recorder_signals.h"

namespace heaptape::recorder {

base::Result<SignalForwarder> SignalForwarder::open() {
  const sigset_t set = recorder_signals();
  base::Descriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return base::os_error("cannot take signals for the program", errno);
  return SignalForwarder(std::move(signals));
}

AskedBySignal SignalForwarder::forward_to(int target, OurSignals ours) {
  AskedBySignal asked;
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    const bool from_terminal = info.ssi_code == SI_KERNEL;
    if (signal == ours.flush) {
      asked.flush = true;
    } else if (signal == SIGCHLD || target == kNobody) {
      continue;
    } else if (target == 0) {
      asked.end |= signal != SIGUSR1 && signal != SIGUSR2;
    } else if (ours.interrupts && signal == SIGINT) {
      asked.end = true;
    } else if (!from_terminal || ours.interrupts) {
      kill(target, signal);
    } else if (signal == SIGHUP && getsid(0) == getpid()) {
      kill(target, SIGHUP);
      kill(target, SIGCONT);  // the kernel sends both, so that a stopped program notices
    }
  }
  return asked;
}

}  // namespace heaptape::recorder
