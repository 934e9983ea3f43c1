// The thread that producers wake: it copies rings that fill, whatever the collector is doing.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "recorder/collector/backlog.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// Sleeps until a producer finds its ring half full, or a process or a thread comes; then copies the
// rings that are half full to the backlog and calls `woken`. It calls `hurry` where the collector
// keeps somebody waiting: who holds the backlog's mutex, or for whom there is a process or a ring
// to look for. Neither blocks.
// Runs before the programs, where it may.
class RingWatch {
 public:
  // The session, `backlog` and `others` outlive the watch. Throws std::system_error where no thread
  // can be had.
  RingWatch(SessionView session, Backlog& backlog, OtherProcessors& others,
            std::function<void()> woken, std::function<void()> hurry);
  ~RingWatch();
  RingWatch(const RingWatch&) = delete;
  RingWatch& operator=(const RingWatch&) = delete;

 private:
  void run();
  bool pull();
  void leave_processors(bool was_late);

  Lobby& lobby_;
  Backlog& backlog_;
  OtherProcessors& others_;
  const std::function<void()> woken_;
  const std::function<void()> hurry_;
  std::atomic<bool> stops_ = false;
  bool has_room_ = true;  // the backlog had, for the last pull()
  uint64_t next_choice_ns_ = 0;
  unsigned lateness_ = 0;  // grows with each pull for which a producer waited
  std::thread thread_;     // after all that it uses
};

}  // namespace heaptape::recorder
