#include "recorder/collector/collector.h"

#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "recorder/ring/stamp.h"

namespace heaptape::recorder {
namespace {

// How long we sleep between two rounds, also of a busy program: each look at a ring's head takes
// that cache line from the processor that writes it (docs/decisions/0039-bulk.md). A ring that
// fills wakes us earlier. The times of a slow program are as coarse as this: we look for the
// beginning of a pause, and ever less often for its end.
constexpr uint64_t kMinSleepNs = base::kMillisecondNs;
constexpr uint64_t kMaxSleepNs = 10 * base::kMillisecondNs;
constexpr uint64_t kCheckEveryNs = 5 * base::kMillisecondNs;
// Calls of a process between two looks at all else: a fraction of a millisecond.
constexpr uint64_t kSliceCalls = 8192;
constexpr uint64_t kSweepEveryNs = 100 * base::kMillisecondNs;
// Rings trimmed in one sweep: few, because nothing is drained meanwhile.
constexpr uint32_t kMostTrims = 32;

}  // namespace

void Collector::wake() {
  if (is_woken_.exchange(1) != 0) return;
  syscall(SYS_futex, &is_woken_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

Recording Collector::run(int target_pid) {
  niceness_.begin();
  target_pid_ = static_cast<uint32_t>(target_pid);
  std::optional<TargetEnd> end;
  bool has_work = false;
  while (!end) {
    const bool was_woken = is_woken_.exchange(0) != 0;
    std::ranges::move(handshakes_.take_marks(), std::back_inserter(marks_));
    const uint64_t now_ns = base::monotonic_ns();
    if (was_woken || !has_work || now_ns - round_ns_ >= kMinSleepNs) {
      begin_rounds(stamp_now(session_));
    }
    const uint64_t before = events_;
    has_work = work();
    if (!backlog_.is_half_full()) niceness_.lower();
    place_marks();
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
    sleep_ns_ = events_ != before ? kMinSleepNs : std::min(2 * sleep_ns_, kMaxSleepNs);
    if (!end && !has_work) sleep_until_needed();
  }
  niceness_.raise();
  others_.end();
  session_.board().stopped = 1;
  const uint64_t cut = stamp_now(session_);
  work_off(cut);
  // The last figures are of the moment before processes and tapes are finished.
  LiveFigures figures;
  if (options_.watcher) figures = gauge_.read(table_, base::monotonic_ns());
  finish_all(*end, cut);
  if (options_.watcher) options_.watcher(gauge_.complete(figures, table_));
  return {*end,
          {options_.command, std::move(table_.manifest()), unrecorded_.entries(inner_.entries())},
          std::move(table_.failures()),
          table_.stack_counts()};
}

// What is left up to `cut` when the program has ended.
void Collector::work_off(uint64_t cut) {
  pools_.look(kPoolPlaces);
  begin_rounds(cut);
  const auto left = static_cast<double>(backlog_.bytes());
  const auto is_held_up = [](const auto& entry) { return entry.second->is_held_up(); };
  for (;;) {
    const bool has_more = work();
    if (!has_more && std::ranges::none_of(table_.processes(), is_held_up)) return;
    if (options_.rest_watcher) {
      options_.rest_watcher(1 - std::min(1.0, static_cast<double>(backlog_.bytes()) / left));
    }
    if (!has_more) sleep_until_needed();
  }
}

void Collector::begin_rounds(uint64_t cut) {
  round_ns_ = base::monotonic_ns();  // of the cut: stamps tell the time by it
  table_.adopt_claims();
  for (const auto& [slot, process] : table_.processes()) process->begin_round(cut, round_ns_);
  for (MarkRequest& request : marks_) {
    if (request.cut != 0) continue;
    request.cut = cut;
    request.now_ns = round_ns_;
  }
}

// Whether there is more.
bool Collector::work() {
  bool has_more = false;
  for (const auto& [slot, process] : table_.processes()) {
    const uint64_t before = process->tape().encoder().events();
    has_more |= process->work(kSliceCalls);
    events_ += process->tape().encoder().events() - before;
    show_progress();
  }
  return has_more;
}

void Collector::place_marks() {
  std::erase_if(marks_, [&](MarkRequest& request) {
    if (request.cut == 0) return false;
    RecordedProcess* const process = table_.find_pid(request.pid);
    MarkReply reply{kMarkMagic, 0, 0, MarkOutcome::kUnknownProcess, 0};
    if (process != nullptr) {
      const auto mark = process->add_mark(request.name, request.cut, request.now_ns);
      if (!mark) return false;
      reply = {kMarkMagic, mark->event, mark->time_ns, MarkOutcome::kPlaced, 0};
    }
    send(request.connection.get(), &reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT);
    return true;
  });
}

// Finishes the tapes of processes that are gone, but for the target: that is up to run().
void Collector::end_gone() {
  std::vector<SlotId> replaced;
  for (const auto& [slot, process] : table_.processes()) {
    // The pid of one that is gone may be another process's.
    if (process->was_replaced() && !process->is_gone()) replaced.push_back(slot);
  }
  for (const SlotId slot : replaced) table_.end(slot, schema::EndReason::kReplaced, 0);
  for (const SlotId slot : table_.find_gone()) {
    if (table_.processes().at(slot)->is(target_pid_)) continue;
    table_.end(slot, schema::EndReason::kExited, -1);
    show_progress();
  }
}

void Collector::show_progress() {
  session_.board().progress.fetch_add(1, std::memory_order_relaxed);
}

void Collector::sweep_if_due(uint64_t now_ns) {
  const bool wanted = session_.lobby().ring_wanted.load(std::memory_order_relaxed) != 0 &&
                      session_.lobby().ring_wanted.exchange(0) != 0;
  const bool is_due = now_ns >= next_sweep_ns_;
  if (!is_due && !wanted) return;
  if (is_due) {  // also if a ring is always wanted, as a hostile process can pretend
    pools_.look(kPoolPlaces / 8);
    next_sweep_ns_ = now_ns + kSweepEveryNs;
  }
  table_.free_what_the_dead_left();
  uint32_t left = kMostTrims;
  for (const auto& [slot, process] : table_.processes()) {
    left -= process->merge().trim_idle_rings(now_ns, left);
  }
}

// Sleeps until we are woken, or sleep_ns_ have passed.
void Collector::sleep_until_needed() {
  const timespec limit{0, static_cast<long>(sleep_ns_)};
  syscall(SYS_futex, &is_woken_, FUTEX_WAIT_PRIVATE, 0, &limit, nullptr, 0);
}

void Collector::finish_all(const TargetEnd& end, uint64_t cut) {
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
