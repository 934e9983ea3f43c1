#include "allocators/native/worker/free_threads.h"

#include <sched.h>
#include <sys/mman.h>
#include <x86intrin.h>

#include <atomic>

#include "allocators/native/worker/parked_threads.h"
#include "allocators/native/worker/worker_traps.h"

namespace heaptape::allocators {
namespace {

constexpr uint64_t kThreads = 1 << 16;
constexpr uint64_t kTable = uint64_t{46} << 40;  // away from the allocator's memory
constexpr int kSpins = 200;
// Leaves room in the log for ops under way in other threads.
constexpr uint32_t kMostLogged = kMaxMemoryCalls / 2;
// With more threads than this, half of the log might not suffice: they take turns.
constexpr uint32_t kMostAtWork = 500;
constexpr uint32_t kNone = UINT32_MAX;

// The ops of one thread between two ends of threads.
struct alignas(64) Lane {
  std::atomic<uint32_t> done;  // its ops up to this number, from 1, are done
  uint32_t next;
  uint32_t until_timed;
};

WorkerShared* shared = nullptr;
RunFreely run_op = nullptr;
Lane* lanes = nullptr;  // kThreads, by thread
uint32_t next_of_thread[kMaxBatchOps];
uint16_t at_work[kMaxBatchOps];  // threads with ops, except the driver
uint32_t at_work_count = 0;
std::atomic<bool> stopped{false};
bool is_interrupted = false;  // the lanes have ops left from an earlier turn,
uint32_t lanes_end = 0;       // up to this one

void fill_lanes(uint32_t begin, uint32_t end) {
  at_work_count = 0;
  lanes[0].next = kNone;
  for (uint32_t op = begin; op < end; ++op) {
    Lane& lane = lanes[shared->ops[op].thread];
    lane.next = kNone;
    lane.done.store(begin, std::memory_order_relaxed);  // numbers restart with each batch
  }
  for (uint32_t op = end; op-- > begin;) {
    const uint16_t thread = shared->ops[op].thread;
    Lane& lane = lanes[thread];
    if (lane.next == kNone && thread != 0) at_work[at_work_count++] = thread;
    next_of_thread[op] = lane.next;
    lane.next = op;
  }
  lanes_end = end;
}

uint32_t next_end(uint32_t ended) {
  const bool ends_one = ended < shared->end_end && shared->ends[ended].op < shared->op_end;
  return ends_one ? shared->ends[ended].op : shared->op_end;
}

// False if all must stop.
bool await(uint32_t number) {
  const Lane& lane = lanes[shared->ops[number - 1].thread];
  for (int spin = 0; lane.done.load(std::memory_order_acquire) < number; ++spin) {
    if (stopped.load(std::memory_order_relaxed)) return false;
    if (spin < kSpins) {
      _mm_pause();
    } else {
      sched_yield();
    }
  }
  return true;
}

bool log_has_room() {
  return __atomic_load_n(&shared->memory_calls, __ATOMIC_RELAXED) <= kMostLogged;
}

bool may_go_on() {
  if (!log_has_room()) stopped = true;
  return !stopped.load(std::memory_order_relaxed);
}

void run_one(uint32_t op) {
  Lane& lane = lanes[shared->ops[op].thread];
  if (lane.until_timed == 0) lane.until_timed = kLatencyPeriod;
  __atomic_store_n(&shared->current_op, op, __ATOMIC_RELAXED);
  run_op(op, lane.until_timed);
  lane.done.store(op + 1, std::memory_order_release);
}

void run_lane(uint32_t thread) {
  Lane& lane = lanes[thread];
  for (; lane.next != kNone; lane.next = next_of_thread[lane.next]) {
    const uint32_t op = lane.next;
    const uint32_t awaited = shared->waits[op];
    if (!may_go_on() || (awaited != 0 && !await(awaited))) return;
    run_one(op);
  }
}

// Whether all are done.
bool run_lanes() {
  stopped = false;
  uint32_t begun = 0;
  for (; begun < at_work_count; ++begun) {
    if (!begin_on_thread(at_work[begun], run_lane, at_work[begun])) {
      shared->failure = WorkerFailure::kNoThreads;
      stopped = true;
      break;
    }
  }
  run_lane(0);
  for (uint32_t i = 0; i < begun; ++i) await_thread(at_work[i]);
  return !stopped;
}

// Returns the op that it stops before.
uint32_t run_in_turns(uint32_t op) {
  for (; op < lanes_end && log_has_room(); ++op) {
    if (run_on_thread(shared->ops[op].thread, run_one, op)) continue;
    shared->failure = WorkerFailure::kNoThreads;
    break;
  }
  return op;
}

}  // namespace

uint32_t run_freely(WorkerShared& worker, RunFreely run) {
  shared = &worker;
  run_op = run;
  if (lanes == nullptr) {
    lanes =
        static_cast<Lane*>(map_unwatched(kTable, kThreads * sizeof(Lane), PROT_READ | PROT_WRITE));
  }
  if (lanes == nullptr) {
    shared->failure = WorkerFailure::kNoThreads;
    return shared->op_begin;
  }
  uint32_t op = shared->op_begin;
  shared->end_done = shared->end_begin;
  for (;;) {
    if (!is_interrupted) fill_lanes(op, next_end(shared->end_done));
    if (at_work_count > kMostAtWork) {
      op = run_in_turns(op);
      if (op < lanes_end) return op;
    } else {
      is_interrupted = !run_lanes();
      if (is_interrupted) return op;
    }
    op = lanes_end;
    shared->current_op = op;
    if (!end_threads(*shared, op, kMostLogged) || op >= shared->op_end) return op;
  }
}

}  // namespace heaptape::allocators
