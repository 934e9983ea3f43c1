// Lets processes into the session, and takes the signals that `heaptape record` gets: a thread of
// the collector's process, so that draining never waits for either.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "recorder/collector/process_sampler.h"

namespace heaptape::recorder {

// The socket exists from open() on, so a process may connect before start(). doorman_signals() must
// be blocked in every thread before start().
class Doorman {
 public:
  static base::Result<std::unique_ptr<Doorman>> open();
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

  // Who a process that came in was, as seen while it waited at the door. Of a pid that came in more
  // than once (by exec) the oldest. Removes the entry.
  std::optional<ProcessIdentity> take_identity(uint32_t pid);

 private:
  // A connection whose hello is yet to come. Anybody can connect, so nobody is waited for.
  struct Visitor {
    int connection;
    uint64_t deadline_ms;
  };

  Doorman(int listener, std::string session_value, std::string token);
  void run();
  void let_in();
  void hear(const std::vector<int>& readable);
  void send_away_silent();
  int milliseconds_to_deadline() const;
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
  std::deque<Visitor> visitors_;  // the oldest first; used by thread_ alone
  std::thread thread_;
  std::mutex mutex_;
  std::map<uint32_t, std::deque<ProcessIdentity>> identities_;  // guarded by mutex_
};

}  // namespace heaptape::recorder
