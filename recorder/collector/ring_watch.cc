#include "recorder/collector/ring_watch.h"

#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>
#include <utility>

#include "base/clock.h"

namespace heaptape::recorder {
namespace {

constexpr int kNiceness = -10;
// The backlog is full: until there may be room again.
constexpr timespec kWaitForRoom{0, base::kMillisecondNs};
// A program with many threads is somewhere else each time.
constexpr uint64_t kChoiceEveryNs = 5 * base::kMillisecondNs;
// After six such pulls, or a few more if others are between them.
constexpr unsigned kLateness = 4;
constexpr unsigned kMostLateness = 6 * kLateness;
// A process may die between its note that it wakes us and the wake.
constexpr timespec kLongestSleep{0, 20 * base::kMillisecondNs};

}  // namespace

RingWatch::RingWatch(SessionView session, Backlog& backlog, OtherProcessors& others,
                     std::function<void()> woken, std::function<void()> hurry)
    : lobby_(session.lobby()),
      backlog_(backlog),
      others_(others),
      woken_(std::move(woken)),
      hurry_(std::move(hurry)),
      thread_([this] { run(); }) {}

RingWatch::~RingWatch() {
  stops_ = true;
  lobby_.collector_sleep.store(CollectorSleep::kAwake);
  syscall(SYS_futex, &lobby_.collector_sleep, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  thread_.join();
}

void RingWatch::run() {
  // Among thousands of busy threads our turn would come too seldom. Only some callers may do this.
  setpriority(PRIO_PROCESS, 0, kNiceness);
  others_.add(pthread_self());
  uint32_t seen_claims = lobby_.claims;
  while (!stops_) {
    lobby_.collector_sleep.store(CollectorSleep::kAsleep);
    // After the store, or nobody would wake us for what has come before it.
    const uint32_t claims = lobby_.claims;
    const bool has_news = claims != seen_claims;
    seen_claims = claims;
    bool is_woken = true;
    if (!has_news && !stops_ && !(has_room_ && backlog_.has_half_full_ring())) {
      is_woken = syscall(SYS_futex, &lobby_.collector_sleep, FUTEX_WAIT, CollectorSleep::kAsleep,
                         has_room_ ? &kLongestSleep : &kWaitForRoom, nullptr, 0) == 0 ||
                 errno != ETIMEDOUT;
    }
    lobby_.collector_sleep.store(CollectorSleep::kAwake);
    if (has_news || lobby_.ring_wanted != 0) hurry_();
    const bool was_full = !has_room_;
    leave_processors(pull());
    if (is_woken || was_full) woken_();
  }
}

// A program that waits for us says that we are late where we are. Now and then that is an accident.
void RingWatch::leave_processors(bool was_late) {
  const uint64_t now_ns = base::monotonic_ns();
  lateness_ = was_late ? lateness_ + kLateness : lateness_ - std::min(lateness_, 1u);
  const bool is_often_late = lateness_ >= kMostLateness;
  if (is_often_late) {
    others_.stay(now_ns);
    lateness_ = 0;
  }
  if (now_ns < next_choice_ns_ && !is_often_late) return;
  next_choice_ns_ = now_ns + kChoiceEveryNs;
  backlog_.note_busy(others_, now_ns);
  others_.choose(now_ns, backlog_.is_half_full());
}

// Whether a producer waited for it.
bool RingWatch::pull() {
  if (backlog_.mutex().try_lock()) {
    backlog_.mutex().unlock();
  } else {
    hurry_();
  }
  try {
    const Backlog::Pulled pulled = backlog_.pull_half_full();
    has_room_ = pulled.has_room;
    return pulled.was_waited_for;
  } catch (const std::bad_alloc&) {
    has_room_ = false;  // what is in rings stays there
    return false;
  }
}

}  // namespace heaptape::recorder
