#include "recorder/interposer/producer.h"

#include <linux/futex.h>
#include <time.h>

#include "recorder/interposer/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr uint64_t kWaitSliceNs = 20'000'000;
// A collector that makes no room for this long is stopped or stuck. The thread goes on without it.
constexpr uint64_t kPatienceNs = 2'000'000'000;

// How many calls a thread without a ring lets pass before it looks for one again. A look goes
// through all rings.
constexpr uint32_t kCallsBetweenLooks = 4096;

ThreadState unattached_state = {};

// Not base/clock.h: libc's clock_gettime goes through the vDSO and a symbol that another library
// may have interposed. A system call is cheap here, where the thread waits anyway.
uint64_t monotonic_ns() {
  timespec now{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, as_long(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

bool has_room(ThreadState& state) {
  if (state.head + kSegmentWords - state.tail <= kRingWords) return true;
  // Sequentially consistent, for wait_for_room: either this sees the collector's new tail, or the
  // collector sees producer_waits.
  state.tail = state.ring->tail.load();
  return state.head + kSegmentWords - state.tail <= kRingWords;
}

// Waits until the collector has drained a segment's worth. False: it did not within kPatienceNs, or
// the session is over.
bool wait_for_room(ThreadState& state) {
  RingHeader& ring = *state.ring;
  const uint64_t begin_ns = monotonic_ns();
  uint64_t waited_ns = 0;
  while (!has_room(state) && !session_is_over() && waited_ns < kPatienceNs) {
    ring.producer_waits.store(1);
    const uint32_t space = ring.space.load();
    wake_collector();
    if (!has_room(state)) {
      const timespec slice{0, kWaitSliceNs};
      raw_syscall(SYS_futex, as_long(&ring.space), FUTEX_WAIT, space, as_long(&slice));
    }
    waited_ns = monotonic_ns() - begin_ns;
  }
  ring.producer_waits.store(0);
  ring.stalls.fetch_add(1, std::memory_order_relaxed);
  ring.stall_ns.fetch_add(waited_ns, std::memory_order_relaxed);
  return has_room(state);
}

// Leaves the rest of the segment empty and enters the next one.
bool enter_segment(ThreadState& state) {
  if (state.head < state.limit) {
    state.words[state.head % kRingWords] = 0;
    state.head = state.limit;
    state.ring->head.store(state.head, std::memory_order_release);
  }
  if (!has_room(state)) {
    const bool may_wait = process.session.header().on_full == OnFull::kBlock && !state.dropping;
    if (!may_wait || !wait_for_room(state)) {
      state.dropping = !session_is_over();
      return false;
    }
  }
  state.dropping = false;
  state.limit = state.head + kSegmentWords;
  if (state.limit - state.tail >= kRingWords / 2) {
    state.tail = state.ring->tail.load(std::memory_order_acquire);
    if (state.limit - state.tail >= kRingWords / 2) wake_collector();
  }
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
  if (local.state->ring != nullptr) return local.state;
  if (local.calls_until_look > 0 && has_own_slot()) {
    --local.calls_until_look;
    return nullptr;
  }
  ThreadState* state = attach_thread(local.ringless ? IfNoRing::kGiveUp : IfNoRing::kWait);
  local.ringless = state == nullptr;
  local.calls_until_look = local.ringless ? kCallsBetweenLooks : 0;
  if (state != nullptr) local.state = state;
  return state;
}

ThreadState* make_room() {
  ThreadState* state = find_state();
  if (state == nullptr) {
    count_lost_call();
    return nullptr;
  }
  if (session_is_over()) {
    detach_process();
    thread_local_state.state = &unattached_state;
    return nullptr;
  }
  if (state->head + kMaxRecordWords <= state->limit) return state;
  if (enter_segment(*state)) return state;
  state->ring->lost.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

}  // namespace heaptape::recorder
