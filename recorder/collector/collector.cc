#include "recorder/collector/collector.h"

#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "recorder/ring/stamp.h"

namespace heaptape::recorder {
namespace {

// How long we sleep between two drains, also of a busy program: each look at a ring's head takes
// that cache line from the processor that writes it (docs/decisions/0039-bulk.md). A ring that
// fills wakes us earlier. The times of a slow program are as coarse as this: we look for the
// beginning of a pause, and ever less often for its end.
constexpr uint64_t kMinSleepNs = base::kMillisecondNs;
constexpr uint64_t kMaxSleepNs = 10 * base::kMillisecondNs;
constexpr uint64_t kCheckEveryNs = 5 * base::kMillisecondNs;
// With --on-full drop the program comes first, but half of two busy threads' calls are to be kept.
constexpr int kNicenessWhenWaitedFor = -10;
constexpr int kNicenessWhenNot = -4;
constexpr uint64_t kSweepEveryNs = 100 * base::kMillisecondNs;
// Rings trimmed in one sweep: few, because nothing is drained meanwhile.
constexpr uint32_t kMostTrims = 32;

}  // namespace

void Collector::wake() {
  is_woken_ = true;
  auto& sleep = session_.header().collector_sleep;
  sleep.store(CollectorSleep::kAwake);
  syscall(SYS_futex, &sleep, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

Recording Collector::run(int target_pid) {
  // Among thousands of busy threads our turn would come too seldom. Only some callers may do this.
  const bool is_waited_for = session_.header().on_full == OnFull::kBlock;
  setpriority(PRIO_PROCESS, 0, is_waited_for ? kNicenessWhenWaitedFor : kNicenessWhenNot);
  target_pid_ = static_cast<uint32_t>(target_pid);
  std::optional<TargetEnd> end;
  while (!end) {
    const bool was_woken = is_woken_.exchange(false);
    std::ranges::move(handshakes_.take_marks(), std::back_inserter(marks_));
    const uint64_t cut = stamp_now(session_.header());
    const uint64_t now_ns = base::monotonic_ns();  // of the cut: stamps tell the time by it
    const uint64_t events = drain_all(cut, now_ns);
    place_marks(cut, now_ns);
    for (const auto& [slot, process] : table_.processes()) {
      process->sample_if_due(now_ns, table_.processes().size(), proc_reader_);
      process->save_if_due(now_ns);
    }
    const bool is_check_due = now_ns >= next_check_ns_;
    if (is_check_due) {
      end_gone();
      unrecorded_.collect(session_);
      next_check_ns_ = now_ns + kCheckEveryNs;
    }
    if (is_check_due || was_woken) end = poll_target(target_pid);
    sweep_if_due(now_ns);
    if (options_.watcher && gauge_.is_due(now_ns)) options_.watcher(gauge_.read(table_, now_ns));
    sleep_ns_ = events != 0 ? kMinSleepNs : std::min(2 * sleep_ns_, kMaxSleepNs);
    if (!end) sleep_until_needed();
  }
  end_watched(*end);
  return {*end,
          {options_.command, std::move(table_.manifest()), unrecorded_.entries(inner_.entries())},
          std::move(table_.failures()),
          table_.stack_counts()};
}

// The last figures are of the moment before processes and tapes are finished.
void Collector::end_watched(const TargetEnd& end) {
  if (!options_.watcher) {
    finish_all(end);
    return;
  }
  const uint64_t now_ns = base::monotonic_ns();
  drain_all(stamp_now(session_.header()), now_ns);
  const LiveFigures figures = gauge_.read(table_, now_ns);
  finish_all(end);
  options_.watcher(gauge_.complete(figures, table_));
}

uint64_t Collector::drain_all(uint64_t cut, uint64_t now_ns) {
  table_.adopt_claims();
  uint64_t events = 0;
  for (const auto& [slot, process] : table_.processes()) {
    events += process->drain(cut, now_ns);
    show_progress();
  }
  return events;
}

// After the drain of `cut`.
void Collector::place_marks(uint64_t cut, uint64_t now_ns) {
  std::erase_if(marks_, [&](MarkRequest& request) {
    if (request.cut == 0) request.cut = cut;
    RecordedProcess* const process = table_.find_pid(request.pid);
    MarkReply reply{kMarkMagic, 0, 0, MarkOutcome::kUnknownProcess, 0};
    if (process != nullptr) {
      const auto mark = process->add_mark(request.name, request.cut, now_ns);
      if (!mark) return false;
      reply = {kMarkMagic, mark->event, mark->time_ns, MarkOutcome::kPlaced, 0};
    }
    send(request.connection.get(), &reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT);
    return true;
  });
}

// Finishes the tapes of processes that are gone, but for the target: that is up to run().
void Collector::end_gone() {
  std::vector<uint32_t> replaced;
  for (const auto& [slot, process] : table_.processes()) {
    // The pid of one that is gone may be another process's.
    if (process->was_replaced() && !process->is_gone()) replaced.push_back(slot);
  }
  for (const uint32_t slot : replaced) table_.end(slot, schema::EndReason::kReplaced, 0);
  for (const uint32_t slot : table_.find_gone()) {
    if (table_.processes().at(slot)->is(target_pid_)) continue;
    table_.end(slot, schema::EndReason::kExited, -1);
    show_progress();
  }
}

void Collector::show_progress() {
  session_.header().progress.fetch_add(1, std::memory_order_relaxed);
}

void Collector::sweep_if_due(uint64_t now_ns) {
  const bool wanted = session_.header().ring_wanted.load(std::memory_order_relaxed) != 0 &&
                      session_.header().ring_wanted.exchange(0) != 0;
  if (now_ns < next_sweep_ns_ && !wanted) return;
  next_sweep_ns_ = now_ns + kSweepEveryNs;
  table_.free_what_the_dead_left();
  uint32_t left = kMostTrims;
  for (const auto& [slot, process] : table_.processes()) {
    left -= process->merge().trim_idle_rings(now_ns, left);
  }
}

bool Collector::a_ring_is_half_full() const {
  return std::ranges::any_of(table_.processes(), [](const auto& entry) {
    return entry.second->merge().has_half_full_ring() && !entry.second->tape().is_behind();
  });
}

// Sleeps until a ring is half full, a process comes or ends, or sleep_ns_ have passed.
void Collector::sleep_until_needed() {
  auto& sleep = session_.header().collector_sleep;
  sleep.store(CollectorSleep::kAsleep);
  if (!is_woken_ && !table_.has_news() && !a_ring_is_half_full()) {
    const timespec limit{0, static_cast<long>(sleep_ns_)};
    syscall(SYS_futex, &sleep, FUTEX_WAIT, CollectorSleep::kAsleep, &limit, nullptr, 0);
  }
  sleep.store(CollectorSleep::kAwake);
}

void Collector::finish_all(const TargetEnd& end) {
  session_.header().stopped = 1;
  const uint64_t cut = stamp_now(session_.header());
  table_.adopt_claims();
  while (!table_.processes().empty()) {
    const auto& [slot, process] = *table_.processes().begin();
    if (process->was_replaced()) {
      table_.end(slot, schema::EndReason::kReplaced, 0);
    } else if (process->is(target_pid_)) {
      table_.end(slot, end.signalled ? schema::EndReason::kSignalled : schema::EndReason::kExited,
                 end.status);
    } else if (process->is_gone()) {
      table_.end(slot, schema::EndReason::kExited, -1);
    } else {
      table_.leave(slot, cut);
    }
  }
  unrecorded_.collect(session_);
  table_.wait_for_tapes();
}

}  // namespace heaptape::recorder
