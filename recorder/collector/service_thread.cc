#include "recorder/collector/service_thread.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <span>
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
  return std::unique_ptr<ServiceThread>(
      new ServiceThread(std::move(signals), std::move(stop_event)));
}

void ServiceThread::start(Session session) {
  thread_ = std::thread([this, session = std::move(session)] {
    run(session);
    serve_backlog(session);
  });
}

void ServiceThread::finish() {
  if (!thread_.joinable()) return;
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
    if (waits[1].revents != 0) signals_.forward_to(session.target);
    session.server.serve(std::span(waits).subspan(2), session.descriptor);
    session.on_change();
  }
}

void ServiceThread::serve_backlog(const Session& session) {
  std::vector<pollfd> waits;
  for (int round = 0; round < kMaxBacklogRounds; ++round) {
    waits.clear();
    session.server.add_waits(waits);
    if (poll(waits.data(), waits.size(), 0) <= 0) return;
    session.server.serve(waits, session.descriptor);
  }
}

}  // namespace heaptape::recorder
