#include "recorder/collector/service_thread.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace heaptape::recorder {
namespace {

// Each serves at least one client; new ones may go on coming.
constexpr int kMaxBacklogRounds = 10'000;

}  // namespace

base::Result<std::unique_ptr<ServiceThread>> ServiceThread::open() {
  HEAPTAPE_ASSIGN_OR_RETURN(SignalForwarder signals, SignalForwarder::open());
  base::Descriptor stop_event(eventfd(0, EFD_CLOEXEC));
  if (!stop_event) return base::os_error("cannot make an eventfd", errno);
  std::unique_ptr<ServiceThread> result(
      new ServiceThread(std::move(signals), std::move(stop_event)));
  try {
    result->thread_ = std::thread([services = result.get()] {
      services->begins_.acquire();
      if (!services->session_) return;
      services->run(*services->session_);
      serve_backlog(*services->session_);
    });
  } catch (const std::system_error& error) {
    return base::os_error("cannot start a thread", error.code().value());
  }
  return result;
}

void ServiceThread::start(Session session) {
  session_.emplace(std::move(session));
  begins_.release();
}

void ServiceThread::finish() {
  if (!thread_.joinable()) return;
  if (!session_) begins_.release();
  eventfd_write(stop_event_.get(), 1);
  thread_.join();
}

void ServiceThread::run(const Session& session) {
  std::vector<pollfd> waits;
  for (;;) {
    waits = {{stop_event_.get(), POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}};
    session.server.add_waits(waits);
    if (poll(waits.data(), waits.size(), session.server.timeout_ms()) < 0) continue;
    if (waits[0].revents != 0) return;
    if (waits[1].revents != 0) {
      const AskedBySignal asked = signals_.forward_to(session.target, session.signals);
      if (asked.end) session.on_interrupt();
      if (asked.flush) session.on_flush();
    }
    session.server.serve(std::span(waits).subspan(2), session.files);
    session.on_change();
    session.files.pools.restock();
  }
}

void ServiceThread::serve_backlog(const Session& session) {
  std::vector<pollfd> waits;
  for (int round = 0; round < kMaxBacklogRounds; ++round) {
    waits.clear();
    session.server.add_waits(waits);
    if (poll(waits.data(), waits.size(), 0) <= 0) return;
    session.server.serve(waits, session.files);
  }
}

}  // namespace heaptape::recorder
