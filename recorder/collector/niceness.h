// When the thread that writes calls onto tapes comes before the programs, and when behind them.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace heaptape::recorder {

// The niceness of the thread that calls begin(): kPatient, and kUrgent between raise() and lower().
// Where the caller may not raise its priority, nothing changes, because it could not be taken back.
// Children inherit it, so begin after starting them.
class Niceness {
 public:
  static constexpr int kUrgent = -10;
  static constexpr int kPatient = 5;

  void begin() {
    thread_ = static_cast<id_t>(gettid());
    may_ = set(kUrgent) && set(kPatient);
  }

  // Any thread.
  void raise() { change(true); }
  void lower() { change(false); }

 private:
  void change(bool is_urgent) {
    if (!may_ || is_urgent_ == is_urgent) return;
    const std::scoped_lock lock(mutex_);
    if (is_urgent_.exchange(is_urgent) != is_urgent) set(is_urgent ? kUrgent : kPatient);
  }
  bool set(int niceness) const { return setpriority(PRIO_PROCESS, thread_, niceness) == 0; }

  id_t thread_ = 0;
  std::atomic<bool> may_ = false;
  std::mutex mutex_;  // of changes
  std::atomic<bool> is_urgent_ = false;
};

}  // namespace heaptape::recorder
