// Lets processes into the session, and takes the signals that `heaptape record` gets: a thread of
// the collector's process, so that draining never waits for either.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "recorder/collector/process_sampler.h"
#include "schema/result.h"

namespace heaptape::recorder {

// The socket exists from open() on, so a process may connect before start(). The signals SIGCHLD,
// SIGINT, SIGQUIT, SIGTERM and SIGHUP must be blocked in every thread before start().
class Doorman {
 public:
  static schema::Result<std::unique_ptr<Doorman>> open();
  ~Doorman();
  Doorman(const Doorman&) = delete;
  Doorman& operator=(const Doorman&) = delete;

  // The value of HEAPTAPE_SESSION for the processes to record.
  const std::string& session_value() const { return session_value_; }

  // Begins to hand out `session_descriptor` to who knows the token, and to forward signals sent to
  // this process alone to `target`. Calls `on_change` (any thread) when a process came in or a
  // child of ours changed.
  void start(int session_descriptor, int target, void (*on_change)(void*), void* argument);
  void stop();

  // Who a process that came in was, as seen while it waited at the door. Removes the entry.
  std::optional<ProcessIdentity> take_identity(uint32_t pid);

 private:
  Doorman(int listener, std::string session_value, std::string token);
  void run();
  void admit(int connection);
  void handle_signal();

  int listener_;
  int signals_ = -1;
  int stop_event_ = -1;
  int session_descriptor_ = -1;
  int target_ = -1;
  void (*on_change_)(void*) = nullptr;
  void* on_change_argument_ = nullptr;
  std::string session_value_;
  std::string token_;
  std::thread thread_;
  std::mutex mutex_;
  std::map<uint32_t, ProcessIdentity> identities_;  // guarded by mutex_
};

// The signals that a Doorman takes, blocked in the calling thread while this lives.
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // For a child between fork and exec: the mask that the caller had.
  void restore_in_child() const;

 private:
  struct Masks;
  std::unique_ptr<Masks> masks_;
};

}  // namespace heaptape::recorder
