#include "allocators/native/worker/worker_ops.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <atomic>

#include "allocators/native/worker/free_threads.h"
#include "allocators/native/worker/parked_threads.h"
#include "allocators/native/worker/worker_clock.h"
#include "allocators/native/worker/worker_entry_points.h"
#include "allocators/native/worker/worker_heap_calls.h"
#include "allocators/native/worker/worker_threads.h"
#include "allocators/native/worker/worker_traps.h"
#include "base/address/pages.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;
constexpr uint32_t kMostLogged = kMaxMemoryCalls - kMemoryCallsPerOp;
constexpr uint64_t kLargeTouchBytes = 256 << 20;  // worth checking for available memory

WorkerShared* shared = nullptr;
void** slots = nullptr;
uint64_t slot_capacity = 0;
uint32_t until_timed = kLatencyPeriod;
EntryPoints entry_points;

bool grow_slots(uint64_t wanted) {
  if (wanted <= slot_capacity) return true;
  uint64_t capacity = slot_capacity == 0 ? 1 << 16 : slot_capacity;
  while (capacity < wanted) capacity *= 2;
  const long bytes = static_cast<long>(capacity * sizeof(void*));
  const long base = slots == nullptr
                        ? unwatched_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                        : unwatched_syscall(SYS_mremap, reinterpret_cast<long>(slots),
                                            static_cast<long>(slot_capacity * sizeof(void*)), bytes,
                                            MREMAP_MAYMOVE);
  if (base < 0 && base > -4096) return false;
  slots = reinterpret_cast<void**>(base);
  slot_capacity = capacity;
  return true;
}

// MemAvailable of /proc/meminfo; the maximum if it is not given.
uint64_t available_bytes() {
  char text[256];
  const int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (got <= 0) return UINT64_MAX;
  text[got] = 0;
  const char* at = strstr(text, "MemAvailable:");
  if (at == nullptr) return UINT64_MAX;
  uint64_t kib = 0;
  for (at += strcspn(at, "0123456789"); *at >= '0' && *at <= '9'; ++at)
    kib = kib * 10 + (*at - '0');
  return kib << 10;
}

// Writes a byte of each page of the block's bytes from `from` on, or all of them.
inline void write_to(char* block, uint64_t from, uint64_t size) {
  if (shared->touch == Touch::kAll) {
    memset(block + from, 1, size - from);
    return;
  }
  volatile char* const bytes = block;
  bytes[from] = 1;
  const uint64_t address = reinterpret_cast<uint64_t>(block);
  uint64_t next = ((address + from) / kPageBytes + 1) * kPageBytes - address;
  for (; next < size; next += kPageBytes) bytes[next] = 1;
}

// Programs also take blocks larger than all memory, and use little of them.
__attribute__((noinline)) void write_pages(char* block, uint64_t from, uint64_t size) {
  if (size - from > kLargeTouchBytes && size - from > available_bytes()) {
    shared->failure = WorkerFailure::kNoTouchMemory;
    return;
  }
  const uint64_t begin = __rdtsc();
  write_to(block, from, size);
  if (shared->threads != Threads::kFree) shared->touch_ticks += __rdtsc() - begin;
}

// Makes the block's bytes from `from` on occupy memory, as the program's own use would. A page or
// more is left out of the time: it is not the allocator's. Less is a store, which costs less than
// two looks at the clock.
__attribute__((always_inline)) inline void touch(void* block, uint64_t from, uint64_t size) {
  if (size <= from) return;
  if (size - from < kPageBytes) [[likely]] {
    write_to(static_cast<char*>(block), from, size);
  } else {
    write_pages(static_cast<char*>(block), from, size);
  }
}

// Times the allocator's call alone, without querying or touching the block.
struct Stopwatch {
  uint64_t begin_ticks = 0;
  uint64_t ticks = 0;

  void start() {
    unsigned processor;
    begin_ticks = __rdtscp(&processor);
  }
  void stop() {
    unsigned processor;
    ticks = __rdtscp(&processor) - begin_ticks;
  }
};
struct NoStopwatch {
  void start() {}
  void stop() {}
};

template <typename Watch>
inline void run_op(const ReplayOp& op, Placement* placement, Watch& watch) {
  void*& slot = slots[op.slot];
  if (placement != nullptr) *placement = {0, 0};
  if (op.kind == ReplayKind::kFree) {
    void* const block = slot;
    watch.start();
    free(block);
    watch.stop();
    slot = nullptr;
    return;
  }
  if (op.kind == ReplayKind::kNothing) return;
  if (op.kind == ReplayKind::kFreeNull) {
    watch.start();
    free(nullptr);
    watch.stop();
    return;
  }
  void* block;
  if (op.kind == ReplayKind::kRealloc) {
    watch.start();
    block = realloc(slot, op.size);
    watch.stop();
    if (block == nullptr) return;  // the old block stays in its slot
  } else {
    watch.start();
    block = allocate(entry_points, op);
    watch.stop();
  }
  slot = block;
  if (block == nullptr) return;
  uint64_t size = op.size;
  if (placement != nullptr || size >= kUserSpaceEnd) {
    const uint64_t usable = usable_bytes(entry_points, block, op.size);
    if (placement != nullptr) *placement = {reinterpret_cast<uint64_t>(block), usable};
    if (usable < size) size = usable;
  }
  if (shared->touch != Touch::kNone) touch(block, first_new_byte(op), size);
}

// Null where no answer is wanted.
inline Placement* placement_of(uint32_t op) {
  return shared->answers == Answers::kPlacements ? &shared->placements[op] : nullptr;
}

__attribute__((noinline)) void run_timed(uint32_t index, uint32_t& until_next) {
  const ReplayOp& op = shared->ops[index];
  Stopwatch watch;
  run_op(op, placement_of(index), watch);
  until_next = kLatencyPeriod;
  LatencyHistogram& histogram = shared->latency[static_cast<int>(op.kind)][size_band(op.size)];
  static std::atomic_flag is_taken;  // several threads may get here at once
  while (is_taken.test_and_set(std::memory_order_acquire)) _mm_pause();
  histogram.note(shared->first_event + index + 1, watch.ticks, shared->stamp_cost_ticks);
  is_taken.clear(std::memory_order_release);
}

// The loop alone: the cost of a replay without an allocator.
void run_noop(const ReplayOp& op, Placement* placement) {
  void*& slot = slots[op.slot];
  asm volatile("" : "+r"(slot));
  if (placement != nullptr) *placement = {0, 0};
}

void run_counted(uint32_t op, uint32_t& until_next) {
  if (--until_next == 0) {
    run_timed(op, until_next);
  } else {
    NoStopwatch none;
    run_op(shared->ops[op], placement_of(op), none);
  }
}

void run_op_at(uint32_t op) {
  run_counted(op, until_timed);
}

// False if there is no thread for it.
bool run_on_its_thread(uint32_t op) {
  const ReplayOp& replay_op = shared->ops[op];
  if (shared->allocator_calls == Calls::kLeftOut) {
    run_noop(replay_op, placement_of(op));
    return true;
  }
  if (shared->threads == Threads::kLockStep) return run_on_thread(replay_op.thread, run_op_at, op);
  if (shared->threads == Threads::kOrdered && !become_thread(replay_op.thread)) return false;
  run_op_at(op);
  return true;
}

uint32_t run_ops() {
  uint32_t op = shared->op_begin;
  shared->end_done = shared->end_begin;
  for (; op < shared->op_end; ++op) {
    shared->current_op = op;
    if (shared->memory_calls > kMostLogged || !end_threads(*shared, op, kMostLogged)) [[unlikely]]
      return op;
    if (!run_on_its_thread(op)) [[unlikely]] {
      shared->failure = WorkerFailure::kNoThreads;
      return op;
    }
  }
  shared->current_op = op;
  end_threads(*shared, op, kMostLogged);
  return op;
}

}  // namespace

bool start_ops(WorkerShared* worker) {
  shared = worker;
  return grow_slots(1);
}

const char* find_calls_of_ops(const void* library) {
  return find_entry_points(library, entry_points);
}

uint32_t measure_stamp_cost() {
  uint64_t least = UINT64_MAX;
  unsigned processor;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t begin = __rdtscp(&processor);
    const uint64_t ticks = __rdtscp(&processor) - begin;
    if (ticks < least) least = ticks;
  }
  return static_cast<uint32_t>(least);
}

void run_batch() {
  if (!grow_slots(shared->slot_limit)) {
    shared->failure = WorkerFailure::kNoSlotMemory;
    return;
  }
  shared->current_op = shared->op_begin;
  shared->touch_ticks = 0;
  let_sleepers_work();
  const uint64_t begin_ns = real_monotonic_ns();
  const uint64_t begin_ticks = __rdtsc();
  const bool is_free = shared->threads == Threads::kFree && shared->allocator_calls == Calls::kMade;
  const uint32_t op = is_free ? run_freely(*shared, run_counted) : run_ops();
  shared->elapsed_ticks = __rdtsc() - begin_ticks;
  shared->elapsed_ns = real_monotonic_ns() - begin_ns;
  become_driver();
  shared->op_done = op;
  // Calls made between two turns belong to the next op.
  const bool is_done = op == shared->op_end && shared->end_done == shared->end_end;
  shared->current_op = is_done ? 0 : op;
}

void steer() {
  shared->current_op = shared->op_done == 0 ? 0 : shared->op_done - 1;
  const auto make = [](uint32_t) {
    shared->steered =
        steer(shared->steering_op, shared->steering_arguments[0], shared->steering_arguments[1]);
  };
  const uint16_t thread = shared->steering_thread;
  bool is_made = true;
  if (!schema::is_of_a_thread(shared->steering_op)) {
    make(0);
  } else if (shared->threads == Threads::kMerged) {
    shared->steered = SteeringOutcome::kRefused;  // it would concern all threads
  } else if (shared->threads == Threads::kOrdered) {
    is_made = become_thread(thread);
    if (is_made) make(0);
    become_driver();
  } else {
    is_made = run_on_thread(thread, make, 0);
  }
  if (!is_made) shared->failure = WorkerFailure::kNoThreads;
  shared->current_op = 0;
}

void give_back() {
  shared->current_op = shared->op_done == 0 ? 0 : shared->op_done - 1;
  const uint64_t begin_ns = real_monotonic_ns();
  shared->can_give_back = give_back_memory();
  shared->elapsed_ns = real_monotonic_ns() - begin_ns;
  shared->current_op = 0;
}

}  // namespace heaptape::allocators
