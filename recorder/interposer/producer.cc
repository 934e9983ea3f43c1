#include "recorder/interposer/producer.h"

#include <linux/futex.h>
#include <time.h>

#include "recorder/interposer/patience.h"
#include "recorder/interposer/recorder_process.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr uint64_t kWaitSliceNs = 10'000'000;

// The number of calls that a thread without a ring makes before it looks again. A look goes through
// all rings.
constexpr uint32_t kCallsBetweenLooks = 4096;
constexpr uint32_t kNoMoreLooks = UINT32_MAX;

ThreadState unattached_state = {};

// Has no room for another segment. Otherwise it is or was closed for a moment.
bool is_full(const RingHeader& ring, uint64_t head) {
  return head + kSegmentWords - ring.tail.load() > kRingWords;
}

// Announces that it enters the next segment.
bool has_room(ThreadState& state) {
  state.ring->entered.store(state.head + kSegmentWords);  // before the look at `closed`
  if (state.ring->closed.load() != 0) [[unlikely]]
    return false;
  if (state.head + kSegmentWords - state.tail <= kRingWords) return true;
  // Sequentially consistent, for wait_for_room: either this sees the collector's new tail, or the
  // collector sees producer_waits.
  state.tail = state.ring->tail.load();
  return state.head + kSegmentWords - state.tail <= kRingWords;
}

// Changes while the recorder does work. The rings of a tape whose file lags are copied, once the
// backlog is full, only when the file catches up, however busy the recorder is with others.
uint64_t sign_of_progress(const ThreadState& state) {
  const ProcessSlot& slot = *process.slot.load(std::memory_order_relaxed);
  return slot.behind.load(std::memory_order_relaxed) != 0
             ? state.ring->tail.load(std::memory_order_relaxed)
             : process.session.board().progress.load(std::memory_order_relaxed);
}

void sleep_until_woken(ThreadState& state) {
  RingHeader& ring = *state.ring;
  ring.producer_waits.store(1);
  const uint32_t space = ring.space.load();
  wake_collector(process.session.lobby());
  if (!has_room(state)) {
    const timespec slice{0, kWaitSliceNs};
    raw_syscall(SYS_futex, as_long(&ring.space), FUTEX_WAIT, space, as_long(&slice));
  }
}

// Under a system call filter, this process cannot look.
bool recorder_is_stopped() {
  return process.quiet || is_stopped(process.recorder);
}

// Waits until the collector has drained a segment's worth or opened the ring again. It opens a ring
// within microseconds, so what it does elsewhere is no reason to wait longer for that. False if
// Patience ran out, or the session is over.
bool wait_for_room(ThreadState& state) {
  const Board& board = process.session.board();
  if (process.waited_in_vain_at == board.progress) return false;
  if (process.quiet && board.ticks_per_ms == 0) return false;  // no way to tell the time
  RingHeader& ring = *state.ring;
  const bool was_full = is_full(ring, state.head);
  const auto sign = [&] { return was_full ? sign_of_progress(state) : 0; };
  Patience patience(board, sign());
  bool lasts = true;
  while (!has_room(state) && !session_is_off() && lasts) {
    if (process.quiet) {
      _mm_pause();
    } else {
      sleep_until_woken(state);
    }
    lasts = patience.lasts(sign(), recorder_is_stopped);
  }
  if (!lasts && process.slot.load()->behind == 0) {
    process.waited_in_vain_at = board.progress.load();
  }
  ring.producer_waits.store(0);
  if (was_full) {
    ring.stalls.fetch_add(1, std::memory_order_relaxed);
    ring.stall_ns.fetch_add(patience.waited_ns(), std::memory_order_relaxed);
  }
  return has_room(state);
}

// Where and when the thread enters a segment. With stamps, these tell the time. Published with the
// next record.
void mark_entry(ThreadState& state) {
  if (process.session.board().clock != Clock::kTsc) return;
  unsigned node_and_processor;
  const uint64_t ticks = __rdtscp(&node_and_processor);
  constexpr unsigned kProcessorMask = 0xfff;  // Linux, arch/x86/include/asm/segment.h
  state.ring->processor.store((node_and_processor & kProcessorMask) + 1, std::memory_order_relaxed);
  if (process.stamped()) return;
  state.words[state.head % kRingWords] = time_mark(ticks);
  in_order();
  ++state.head;
}

// Leaves the rest of the segment empty and enters the next one.
bool enter_segment(ThreadState& state) {
  if (state.head < state.limit) {
    state.words[state.head % kRingWords] = kSegmentEndOp;
    in_order();
    state.head = state.limit;
    in_order();
    state.ring->head.store(state.head, std::memory_order_release);
  }
  if (!has_room(state)) {
    const bool may_wait =
        process.session.board().on_full == OnFull::kBlock || !is_full(*state.ring, state.head);
    if (!may_wait || state.dropping || !wait_for_room(state)) {
      state.dropping = !session_is_off();
      return false;
    }
  }
  state.dropping = false;
  state.limit = state.head + kSegmentWords;
  mark_entry(state);
  if (state.limit - state.tail >= kRingWords / 2) {
    state.tail = state.ring->tail.load(std::memory_order_acquire);
    if (state.limit - state.tail >= kRingWords / 2) {
      wake_collector(process.session.lobby());
    }
  }
  return true;
}

// The call of the hook under way follows, and counts its own loss.
void record_lasting_settings() {
  lasting_settings.for_each([](schema::SteeringOp op, int64_t first, int64_t second) {
    RecordWriter record(RecordOf::kOther);
    if (!record.ok()) return;
    put_steering(record, op, first, second);
    record.publish_frame();
  });
}

// The call of the hook under way.
void count_lost_call(const ThreadState& state) {
  RingHeader& ring = *state.ring;
  const bool stopped =
      process.session.board().on_full == OnFull::kBlock && process.slot.load()->behind == 0;
  (stopped ? ring.lost_stopped : ring.lost_full).fetch_add(1, std::memory_order_relaxed);
  thread_local_state.hook |= kAccounted;
}

// Whether the thread has a ring now, which it had not.
bool attach(ThreadLocal& local) {
  if (local.calls_until_look > 0 && has_own_slot()) {
    --local.calls_until_look;
    return false;
  }
  ThreadState* state = attach_thread(local.ringless ? IfNoRing::kGiveUp : IfNoRing::kWait);
  local.ringless = state == nullptr || state == &unusable_state;
  if (local.ringless) {
    local.calls_until_look = state == nullptr ? kCallsBetweenLooks : kNoMoreLooks;
    return false;
  }
  local.calls_until_look = 0;
  local.state = state;
  return true;
}

}  // namespace

constinit thread_local ThreadLocal thread_local_state = {.state = &unattached_state};

ThreadState* find_state() {
  ThreadLocal& local = thread_local_state;
  if (!process.recording.load(std::memory_order_relaxed)) {
    local.state = &unattached_state;
    return nullptr;
  }
  if (local.state->ring == nullptr && !attach(local)) return nullptr;
  const bool owes = process.owes_settings.load(std::memory_order_relaxed) && !session_is_off();
  if (owes && process.owes_settings.exchange(false)) record_lasting_settings();
  return local.state;
}

void leave_thread_unrecorded() {
  thread_local_state.state = &unattached_state;
  thread_local_state.ringless = true;
  thread_local_state.calls_until_look = kNoMoreLooks;
}

bool has_started(RecordOf what) {
  const Pause pause = process.session.board().pause.load(std::memory_order_relaxed);
  if (pause == Pause::kBetween) return what == RecordOf::kCallInPause;
  if (pause == Pause::kNone) {
    process.awaits_start = false;
    return true;
  }
  if (++thread_local_state.unseen_calls % kUnseenCalls == 0 && has_own_slot()) {
    process.slot.load()->unseen.fetch_add(1, std::memory_order_relaxed);
  }
  return false;
}

ThreadState* make_room(RecordOf what) {
  if (process.recording.load(std::memory_order_relaxed) &&
      process.session.board().pause.load(std::memory_order_relaxed) != Pause::kNone) {
    process.awaits_start = true;
  }
  if (process.awaits_start.load(std::memory_order_relaxed) && !has_started(what)) return nullptr;
  ThreadState* state = find_state();
  if (state == nullptr) {
    if (what != RecordOf::kOther) {
      count_ringless_call();
      thread_local_state.hook |= kAccounted;
    }
    return nullptr;
  }
  if (session_is_over()) {
    detach_process();
    thread_local_state.state = &unattached_state;
    return nullptr;
  }
  if (state->head + kMaxRecordWords <= state->limit) return state;
  if (enter_segment(*state)) return state;
  if (what != RecordOf::kOther && !session_is_off()) count_lost_call(*state);
  return nullptr;
}

uint32_t stack_of_hook(uint64_t size, uintptr_t frame) {
  uint64_t& left = thread_local_state.state->bytes_until_stack;
  const uint64_t bytes = size + (size == 0 ? 1 : 0);
  if (bytes < left) {
    left -= bytes;
    return 0;
  }
  return log_stack(bytes, frame);
}

void record_whole_allocation(Op op, const void* block, uint64_t size, const uint64_t* alignment,
                             uintptr_t frame) {
  if (!is_recording()) return;
  const uint32_t stack = stack_of_hook(size, frame);
  RecordWriter record;
  if (!record.ok()) return;
  record.put(first_word(op, reinterpret_cast<uint64_t>(block), record.stamped(), stack != 0));
  if (record.stamped()) record.put(take_stamp(process.session));
  record.put(size);
  if (alignment != nullptr) record.put(*alignment);
  if (stack != 0) record.put(stack);
  record.publish();
}

void record_whole_release(Op op, const void* block) {
  if (!is_recording()) return;
  RecordWriter record;
  if (!record.ok()) return;
  record.put(first_word(op, reinterpret_cast<uint64_t>(block), record.stamped()));
  if (record.stamped()) record.put(take_stamp(process.session));
  record.publish();
}

void record_whole_resize(Op op, const void* old_block, uint64_t size, const void* block,
                         uint64_t begin_stamp, uintptr_t frame) {
  if (begin_stamp == kBeganInPause) return;
  // Another thread may have its old block by now, and that may be on the tape.
  const bool began_before_pause = begin_stamp != 0;
  if (!began_before_pause && !is_recording()) return;
  const uint32_t stack = stack_of_hook(size, frame);
  RecordWriter record(began_before_pause ? RecordOf::kCallInPause : RecordOf::kCall);
  if (!record.ok()) return;
  record.put(first_word(op, reinterpret_cast<uint64_t>(block), record.stamped(), stack != 0));
  if (record.stamped()) {
    // If begin_stamp is 0, the second thread came during the call: the begin is before any stamp.
    record.put(take_stamp(process.session));
    record.put(begin_stamp);
  }
  record.put(size);
  record.put(reinterpret_cast<uint64_t>(old_block));
  if (stack != 0) record.put(stack);
  record.publish();
}

}  // namespace heaptape::recorder
