#include "recorder/collector/collector.h"

#include <linux/futex.h>
#include <malloc.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

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
// While the recording pauses, for hours perhaps.
constexpr uint64_t kMaxPauseSleepNs = 100 * base::kMillisecondNs;
constexpr uint64_t kCheckEveryNs = 5 * base::kMillisecondNs;
// Calls of a process between two looks at all else: a fraction of a millisecond.
constexpr uint64_t kSliceCalls = 8192;
// Between two looks at /proc, which takes some milliseconds: more and more, while what uses the
// session stays unrecorded.
constexpr uint64_t kMinUsersWaitNs = 50 * base::kMillisecondNs;
constexpr uint64_t kMaxUsersWaitNs = 1000 * base::kMillisecondNs;
constexpr uint64_t kLongLifeNs = 1000 * base::kMillisecondNs;
constexpr uint64_t kSweepEveryNs = 100 * base::kMillisecondNs;
// Rings trimmed in one sweep: few, because nothing is drained meanwhile.
constexpr uint32_t kMostTrims = 32;
// A call takes no more than this on a tape before it is compressed.
constexpr uint64_t kMostBytesOfCall = 32;
// A tape takes this behind its calls, for its summary, its index and the names of its threads.
constexpr uint64_t kBytesOfTapeEnd = 16 << 10;
constexpr size_t kMostRequests = 1024;  // at one time

void reply(const ControlRequest& request, ControlOutcome outcome, const RecordingTotals& totals,
           const schema::Mark* mark = nullptr) {
  ControlReply reply{kControlMagic, outcome, 0, 0, 0, totals};
  if (mark != nullptr) {
    reply.event = mark->event;
    reply.time_ns = mark->time_ns;
  }
  send(request.connection.get(), &reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool is_stop(const ControlRequest& request) {
  return request.verb == ControlVerb::kStop || request.verb == ControlVerb::kEnd;
}

schema::EndReason reason_of(const TargetEnd& end) {
  return end.signalled ? schema::EndReason::kSignalled : schema::EndReason::kExited;
}

}  // namespace

void tell_stopped(const Recording& recording) {
  for (const ControlRequest& request : recording.stops) {
    reply(request, recording.stop_outcome, recording.totals);
  }
}

void Collector::wake() {
  if (is_woken_.exchange(1) != 0) return;
  syscall(SYS_futex, &is_woken_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

Recording Collector::run(const Target& target) {
  niceness_.begin();
  begin_ns_ = base::monotonic_ns();
  target_ = target;
  target_pid_ = static_cast<uint32_t>(target.pid);
  return run_interval();
}

std::optional<Recording> Collector::run_again() {
  backlog_.drop_spares();
  malloc_trim(0);
  while (pauses_ && !is_over() && !is_interrupted_) {
    go_round();
    if (pauses_ && !is_over() && !has_work_) sleep_until_needed();
  }
  if (!pauses_) return run_interval();
  end_session();
  return std::nullopt;
}

Recording Collector::run_interval() {
  while (!stop_ && !is_over()) {
    go_round();
    if (!stop_ && !is_over() && !has_work_) sleep_until_needed();
  }
  const bool has_started = !awaits_start();
  const uint64_t cut = end_interval();
  // The last figures are of the moment before processes and tapes are finished.
  LiveFigures figures;
  if (options_.watcher) figures = gauge_.read(table_, base::monotonic_ns());
  finish_all(cut);
  if (options_.watcher) options_.watcher(gauge_.complete(figures, table_));
  const auto outcome = table_.failures().empty() ? ControlOutcome::kDone : ControlOutcome::kFailed;
  last_totals_ = totals();
  last_totals_.backlog_bytes = 0;  // what is left came later
  if (!pauses_) end_session();
  answer_rest(outcome);
  is_ending_ = false;
  std::ranges::move(table_.take_window_failures(), std::back_inserter(table_.failures()));
  return {tape_path_,
          end_,
          drops_rest_ ? end_of_full() : stop_.value_or(RecordingEnd::kOfProgram),
          {options_.command, table_.manifest(), unrecorded_.entries(inner_.entries())},
          first_process_,
          std::exchange(table_.failures(), {}),
          table_.stack_counts(),
          std::exchange(still_running_, {}),
          std::exchange(stops_, {}),
          outcome,
          last_totals_,
          has_started,
          copies_,
          pauses_};
}

// One look at everything.
void Collector::go_round() {
  const bool was_woken = is_woken_.exchange(0) != 0;
  take_requests();
  const uint64_t now_ns = base::monotonic_ns();
  if (was_woken || !has_work_ || now_ns - round_ns_ >= kMinSleepNs) {
    begin_rounds(stamp_now(session_));
  }
  const uint64_t before = events_;
  has_work_ = work();
  if (!backlog_.is_half_full()) niceness_.lower();
  answer_requests();
  for (const auto& [slot, process] : table_.processes()) {
    // Before the start, malloc's part of a process cannot be told from others.
    if (!awaits_start() && !pauses_) {
      process->sample_if_due(now_ns, table_.processes().size(), proc_reader_);
    }
    process->save_if_due(now_ns);
  }
  const bool is_check_due = now_ns >= next_check_ns_;
  if (is_check_due) {
    end_gone();
    (pauses_ ? unrecorded_in_pauses_ : unrecorded_).collect(session_);
    next_check_ns_ = now_ns + kCheckEveryNs;
  }
  if (is_check_due || was_woken) look_for_ends();
  if (awaits_start()) start_if_due(now_ns);
  if (!pauses_) note_bounds(now_ns);
  sweep_if_due(now_ns);
  if (options_.watcher && !pauses_ && gauge_.is_due(now_ns)) {
    options_.watcher(gauge_.read(table_, now_ns));
  }
  const uint64_t longest_ns = pauses_ ? kMaxPauseSleepNs : kMaxSleepNs;
  sleep_ns_ = events_ != before ? kMinSleepNs : std::min(2 * sleep_ns_, longest_ns);
}

// An interval that ended before what it records may be followed by another.
bool Collector::may_pause() const {
  const bool is_for_good = stop_ == RecordingEnd::kOfProgram || stop_ == RecordingEnd::kInterrupt;
  return stop_ && !is_for_good && !is_interrupted_ && !is_over();
}

// Nothing comes onto the tapes behind the cut that this returns, and producers notice it. The cut
// is first: between two calls that both come before it, none is missing.
uint64_t Collector::end_interval() {
  niceness_.raise();
  const uint64_t cut = stamp_now(session_);
  pauses_ = may_pause();
  is_ending_ = true;
  if (pauses_) {
    session_.board().pause = Pause::kBetween;
  } else {
    others_.end();
    session_.board().stopped = 1;
  }
  drops_rest_ = stop_ && is_full();
  if (!drops_rest_) work_off(cut);
  return cut;
}

void Collector::end_session() {
  niceness_.raise();
  others_.end();
  session_.board().stopped = 1;
  pools_.give_back_rings();
}

// The start is before the cut: each call that begins behind that is recorded, so what hands out a
// block that is on a tape, and what gives it up, are both there.
base::Status Collector::start_again() {
  const uint64_t next = name_number_ + 1;
  const uint64_t number =
      options_.overwrites ? next : free_interval_number(options_.tape_path, next);
  std::string path = interval_path(options_.tape_path, number);
  if (options_.open_interval) {
    HEAPTAPE_ASSIGN_OR_RETURN(base::OutputFile file, options_.open_interval(path));
    table_.use_first_file(std::make_unique<base::OutputFile>(std::move(file)));
  }
  end_gone();
  session_.board().pause = Pause::kNone;
  const uint64_t cut = stamp_now(session_);
  table_.adopt_claims();
  begin_ns_ = base::monotonic_ns();  // behind those of all processes that joined in the pause
  table_.note_start(begin_ns_);
  first_process_ = table_.manifest().size();
  table_.resume(path, target_pid_, cut);
  handshakes_.name_tape(path);
  tape_path_ = std::move(path);
  name_number_ = number;
  pauses_ = false;
  stop_.reset();
  drops_rest_ = false;
  events_ = 0;
  copies_ = 0;
  gauge_ = LiveGauge(begin_ns_);
  return {};
}

// What is left up to `cut` when the program has ended, or the interval. Where a process goes on, a
// resize may be under way whose old block is another thread's by now.
void Collector::work_off(uint64_t cut) {
  pools_.look(kPoolPlaces);
  begin_rounds(cut);
  for (const auto& [slot, process] : table_.processes()) process->merge().end_at(cut);
  const auto left = static_cast<double>(backlog_.bytes());
  const auto must_wait = [](const auto& entry) {
    const RecordedProcess& process = *entry.second;
    return process.is_held_up() || (process.merge().has_rounds() && !process.is_gone());
  };
  for (;;) {
    const bool has_more = work();
    take_requests();
    answer_requests();
    drops_rest_ = is_full();
    if (drops_rest_) return;
    if (!has_more && std::ranges::none_of(table_.processes(), must_wait)) return;
    if (options_.rest_watcher) {
      options_.rest_watcher(1 - std::min(1.0, static_cast<double>(backlog_.bytes()) / left));
    }
    if (has_more) continue;
    sleep_until_needed();
    is_woken_ = 0;
    for (const auto& [slot, process] : table_.processes()) {
      if (process->merge().has_rounds()) process->begin_round(cut, base::monotonic_ns());
    }
  }
}

void Collector::begin_rounds(uint64_t cut) {
  round_ns_ = base::monotonic_ns();  // of the cut: stamps tell the time by it
  table_.adopt_claims();
  for (const auto& [slot, process] : table_.processes()) process->begin_round(cut, round_ns_);
  bool copies = false;
  for (ControlRequest& request : requests_) {
    if (request.cut != 0) continue;
    request.cut = cut;
    request.now_ns = round_ns_;
    if (request.verb != ControlVerb::kFlush || !options_.keep_last) continue;
    if (!is_of_this_recording(request)) continue;
    if (!std::exchange(copies, true)) copies_ = free_copy_number(tape_path_, copies_ + 1);
    request.number = copies_;
  }
}

// Whether there is more. Puts no more calls onto the tapes than the bound leaves.
bool Collector::work() {
  events_ = table_.ended().calls;
  for (const auto& [slot, process] : table_.processes()) {
    events_ += process->tape().encoder().events();
  }
  bool has_more = false;
  const uint64_t most = pauses_ && !is_ending_ ? UINT64_MAX : options_.bounds.calls;
  for (const auto& [slot, process] : table_.processes()) {
    const uint64_t left = most - std::min(most, events_);
    if (left == 0) return false;
    const uint64_t before = process->tape().encoder().events();
    has_more |= process->work(std::min(kSliceCalls, left));
    events_ += process->tape().encoder().events() - before;
    show_progress();
  }
  return has_more;
}

void Collector::take_requests() {
  if (is_flush_wanted_) request_flush();
  if (requests_.size() > kMostRequests) return;  // of somebody who asks and asks
  std::ranges::move(handshakes_.take_requests(), std::back_inserter(requests_));
}

void Collector::answer_requests() {
  std::erase_if(requests_, [this](ControlRequest& request) { return answer(request); });
}

// False while it is not done.
bool Collector::answer(ControlRequest& request) {
  RecordedProcess* const process = table_.find_pid(request.pid);
  const bool is_mark = request.verb == ControlVerb::kMark;
  request.is_of_this_recording = is_of_this_recording(request);
  if (request.verb == ControlVerb::kStatus && request.is_of_this_recording) {
    reply(request, ControlOutcome::kDone, totals());
    return true;
  }
  if (request.cut == 0) return false;
  const bool is_strange_end = request.verb == ControlVerb::kEnd && request.pid != target_pid_;
  if (!request.is_of_this_recording || is_strange_end || (is_mark && process == nullptr)) {
    reply(request, ControlOutcome::kUnknownTarget, {});
    return true;
  }
  if (pauses_ && !is_ending_) {
    answer_in_pause(request);
  } else if (request.verb == ControlVerb::kStart) {
    if (is_ending_) return false;
    const bool is_new = awaits_start();
    if (is_new) start(request.now_ns);
    reply(request, is_new ? ControlOutcome::kDone : ControlOutcome::kNothingToDo, totals());
  } else if (is_mark) {
    const auto mark = process->add_mark(request.name, request.cut, request.now_ns);
    if (!mark) return false;
    reply(request, ControlOutcome::kDone, totals(), &*mark);
  } else if (is_stop(request)) {
    announces_end_ |= request.verb == ControlVerb::kEnd;
    if (announces_end_ && !end_) end_ = TargetEnd{.status = -1};
    if (!stop_) stop_ = announces_end_ ? RecordingEnd::kOfProgram : RecordingEnd::kRequest;
    stops_.push_back(std::move(request));
  } else if (request.verb == ControlVerb::kFlush) {
    if (options_.keep_last && request.number == 0) {
      request.cut = 0;  // its process has joined since: in the next round
      return false;
    }
    const auto saved = table_.save_up_to(request.cut, request.number);
    if (saved == RecordedProcess::Saved::kNotYet) return false;
    const bool has_failed = saved == RecordedProcess::Saved::kFailed;
    const schema::Mark number{request.number, 0, {}};
    reply(request, has_failed ? ControlOutcome::kFailed : ControlOutcome::kDone, totals(), &number);
  }
  return true;
}

void Collector::answer_in_pause(const ControlRequest& request) {
  if (request.verb == ControlVerb::kStart) {
    const bool is_done = start_again().ok();
    const schema::Mark number{name_number_, 0, {}};
    reply(request, is_done ? ControlOutcome::kDone : ControlOutcome::kFailed, totals(), &number);
  } else {
    const bool is_end = request.verb == ControlVerb::kEnd;  // all files are there
    reply(request, is_end ? ControlOutcome::kDone : ControlOutcome::kNothingToDo, totals());
  }
}

// Those that the end of the interval does, or did. The others may be for the next one.
void Collector::answer_rest(ControlOutcome outcome) {
  take_requests();
  std::erase_if(requests_, [&](ControlRequest& request) {
    const auto is_its = [&request](const auto& process) { return process.pid == request.pid; };
    const bool is_ours =
        request.is_of_this_recording || std::ranges::any_of(table_.manifest(), is_its);
    const bool is_too_late =
        request.verb == ControlVerb::kMark || request.verb == ControlVerb::kStart;
    if (!is_ours || is_too_late) return !pauses_;
    if (is_stop(request)) {
      stops_.push_back(std::move(request));
    } else {
      reply(request, outcome, totals());
    }
    return true;
  });
}

RecordingTotals Collector::totals() const {
  if (pauses_ && !is_ending_) return last_totals_;
  ProcessTotals sum = table_.ended();
  size_t processes = 0;
  for (const auto& [slot, process] : table_.processes()) {
    sum.add(process->totals());
    processes += process->is_on_tape() ? 1 : 0;
  }
  return {.time_ns = base::monotonic_ns() - begin_ns_,
          .state = awaits_start() ? RecordingState::kAwaitsStart
                   : pauses_      ? RecordingState::kStopped
                                  : RecordingState::kRecording,
          .interval = table_.interval(),
          .processes = processes,
          .ended_processes = table_.ended().processes,
          .calls = awaits_start() ? table_.unseen_calls() : sum.calls,
          .lost = sum.troubles.lost,
          .tape_bytes = table_.written().bytes,
          .backlog_bytes = backlog_.bytes()};
}

// Each call that begins from now on is recorded.
void Collector::start(uint64_t now_ns) {
  begin_ns_ = now_ns;
  table_.note_start(now_ns);
  session_.board().pause = Pause::kNone;
}

void Collector::start_if_due(uint64_t now_ns) {
  const StartAfter& after = options_.start_after;
  if (now_ns - std::min(now_ns, begin_ns_) >= after.time_ns ||
      table_.unseen_calls() >= after.calls) {
    start(now_ns);
  }
}

void Collector::interrupt() {
  is_interrupted_ = true;
  wake();
}

void Collector::flush() {
  is_flush_wanted_ = true;
  wake();
}

bool Collector::is_of_this_recording(const ControlRequest& request) {
  return request.is_of_this_recording || table_.find_pid(request.pid) != nullptr;
}

// A flush that nobody waits for. One at a time, because signals may come in floods.
void Collector::request_flush() {
  const auto is_ours = [](const ControlRequest& request) { return !request.connection; };
  if (std::ranges::any_of(requests_, is_ours)) return;
  is_flush_wanted_ = false;
  if (awaits_start() || pauses_) return;
  requests_.push_back({{}, ControlVerb::kFlush, 0, true});
}

bool Collector::is_over() const {
  return end_ && (!options_.waits_for_all || !has_others_);
}

void Collector::look_for_ends() {
  if (!end_) {
    end_ = poll_target(target_);
    if (end_) end_ns_ = base::monotonic_ns();
    if (end_ && options_.on_target_end) options_.on_target_end();
  } else if (options_.on_long_life && base::monotonic_ns() > end_ns_ + kLongLifeNs) {
    std::exchange(options_.on_long_life, {})();
  }
  if (!options_.waits_for_all) return;
  if (target_.is_our_child) {
    has_others_ = reap_orphans(end_ ? 0 : target_.pid);
  } else if (!table_.processes().empty()) {
    users_wait_ns_ = kMinUsersWaitNs;
  } else if (const uint64_t now_ns = base::monotonic_ns(); end_ && now_ns >= next_users_ns_) {
    has_others_ = options_.has_users();
    next_users_ns_ = now_ns + users_wait_ns_;
    users_wait_ns_ = std::clamp(2 * users_wait_ns_, kMinUsersWaitNs, kMaxUsersWaitNs);
  }
}

void Collector::note_bounds(uint64_t now_ns) {
  if (stop_) return;
  if (is_interrupted_) {
    stop_ = RecordingEnd::kInterrupt;
  } else if (!awaits_start() &&
             now_ns - std::min(now_ns, begin_ns_) >= options_.bounds.duration_ns) {
    stop_ = RecordingEnd::kDuration;
  } else if (is_full()) {
    stop_ = end_of_full();
  }
}

// A bound on calls or bytes is reached.
bool Collector::is_full() const {
  const RecordingBounds& bounds = options_.bounds;
  if (events_ >= bounds.calls) return true;
  if (bounds.tape_bytes == UINT64_MAX) return false;
  const WrittenSoFar written = table_.written();
  const uint64_t unwritten_calls = events_ - std::min(events_, written.calls);
  return written.bytes + unwritten_calls * kMostBytesOfCall +
             table_.processes().size() * kBytesOfTapeEnd >=
         bounds.tape_bytes;
}

RecordingEnd Collector::end_of_full() const {
  return events_ >= options_.bounds.calls ? RecordingEnd::kCalls : RecordingEnd::kTapeBytes;
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
    if (table_.processes().at(slot)->is(target_pid_)) {
      if (!end_) continue;
      table_.end(slot, reason_of(*end_), end_->status);
      target_pid_ = 0;  // the number may be another's from now on
    } else {
      table_.end(slot, schema::EndReason::kExited, -1);
    }
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
    table_.share_window();
    if (options_.on_pids) options_.on_pids(table_.pids());
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

void Collector::finish_all(uint64_t cut) {
  if (!drops_rest_) table_.adopt_claims();
  std::vector<SlotId> slots;
  for (const auto& [slot, process] : table_.processes()) slots.push_back(slot);
  if (pauses_) table_.pause();
  for (const SlotId slot : slots) finish_process(slot, *table_.processes().at(slot), cut);
  unrecorded_.collect(session_);
  table_.wait_for_tapes();
  for (const auto& [slot, process] : table_.processes()) process->merge().trim_rings();
}

// Where a bound drops the rest, a process that has calls left is left like one that runs on: its
// tape lacks them.
void Collector::finish_process(SlotId slot, const RecordedProcess& process, uint64_t cut) {
  const bool is_target = process.is(target_pid_);
  const bool is_ending = announces_end_ && is_target;
  const bool is_ended_target = end_ && is_target && !is_ending;
  const bool has_ended = is_ended_target || process.was_replaced() || process.is_gone();
  if (!has_ended && !is_ending) still_running_.push_back(process.traits().identity);
  const uint64_t last = drops_rest_ ? ProcessTable::kNothingMore : cut;
  if (!has_ended || (drops_rest_ && process.merge().has_rounds())) {
    if (pauses_) return table_.leave_tape(slot, last);
    table_.leave(slot, last,
                 is_ending ? schema::EndReason::kExited : schema::EndReason::kRecordingStopped);
  } else if (process.was_replaced()) {
    table_.end(slot, schema::EndReason::kReplaced, 0);
  } else if (is_ended_target) {
    table_.end(slot, reason_of(*end_), end_->status);
  } else {
    table_.end(slot, schema::EndReason::kExited, -1);
  }
}

}  // namespace heaptape::recorder
