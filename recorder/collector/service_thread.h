// The collector's second thread: serves handshakes and forwards signals, or drops them under
// `heaptape exec`, so that draining never waits for either.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>

#include "base/descriptor.h"
#include "base/result.h"
#include "recorder/collector/handshake_server.h"
#include "recorder/collector/signal_forwarder.h"

namespace heaptape::recorder {

class ServiceThread {
 public:
  // What the thread works for. Server and session must outlive it.
  struct Session {
    HandshakeServer& server;
    SessionFiles files;
    const std::atomic<int>&
        target;          // pid of the program that gets the signals; 0: of none any more
    OurSignals signals;  // that the program does not get
    // Called in the thread: a process came, or a child changed; a signal ends the recording, or
    // asks for the calls so far.
    std::function<void()> on_change;
    std::function<void()> on_interrupt;
    std::function<void()> on_flush;
  };

  // Opens all it needs and starts its thread, so that a lack of either shows before the program
  // runs.
  static base::Result<std::unique_ptr<ServiceThread>> open();
  ~ServiceThread() { finish(); }
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  // Gives the thread its work. Once.
  void start(Session session);
  // Ends the thread, once it has served every client that has said hello: those who connected while
  // the recorder was stopped are counted, too.
  void finish();

 private:
  ServiceThread(SignalForwarder signals, base::Descriptor stop_event)
      : signals_(std::move(signals)), stop_event_(std::move(stop_event)) {}
  void run(const Session& session);
  static void serve_backlog(const Session& session);

  SignalForwarder signals_;
  base::Descriptor stop_event_;
  std::optional<Session> session_;
  std::binary_semaphore begins_{0};  // session_ is there, or never will be
  std::thread thread_;
};

}  // namespace heaptape::recorder
