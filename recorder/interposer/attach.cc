#include "recorder/interposer/attach.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <time.h>

#include <cstring>

#include "recorder/interposer/handshake_client.h"
#include "recorder/interposer/raw_syscall.h"
#include "recorder/interposer/ring_mapping.h"

namespace heaptape::recorder {
namespace {

constexpr int kMadvWipeOnFork = 18;  // linux/mman.h; missing from older libc headers

// How long a thread waits for a ring, and a process for a slot, while all are taken: the collector
// needs some milliseconds to free those of the dead, and longer while it finishes hundreds of
// tapes.
constexpr int kNaps = 1000;
constexpr long kNapNs = 2'000'000;
constexpr int kYields = 1000;

void nap() {
  const timespec pause{0, kNapNs};
  raw_syscall(SYS_nanosleep, as_long(&pause));
}

enum class Attachment : uint32_t {
  kNone = 0,  // what a fork leaves
  kUnderWay = 1,
  kDone = 2,  // also when it failed: process.recording is false then
};

// Cleared in a forked child, like the thread states behind it.
struct alignas(64) ForkDetector {
  std::atomic<Attachment> attachment;
};

// What a process says about itself in its slot. Kept for the children that it forks: by the time
// they need it, another process may have the slot.
struct Description {
  uint32_t flags;
  uint64_t initial_break;
  char allocator_path[kAllocatorPathBytes];
};

ForkDetector* fork_detector = nullptr;
ThreadState* thread_states = nullptr;  // [kRings], by ring
Description description = {};
std::atomic<uint64_t> early_bootstrap_calls{0};
std::atomic<uint32_t> rings_claimed{0};  // by this process

bool map_private_state() {
  constexpr size_t bytes = sizeof(ForkDetector) + kRings * sizeof(ThreadState);
  const long base = raw_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base < 0) return false;
  if (raw_syscall(SYS_madvise, base, bytes, kMadvWipeOnFork) != 0) {
    raw_syscall(SYS_munmap, base, bytes);
    return false;
  }
  fork_detector = reinterpret_cast<ForkDetector*>(base);
  thread_states = reinterpret_cast<ThreadState*>(base + sizeof(ForkDetector));
  return true;
}

uint32_t own_pid() {
  return static_cast<uint32_t>(raw_syscall(SYS_getpid));
}

bool is_over(const SessionHeader& header) {
  return header.stopped.load(std::memory_order_relaxed) != 0 ||
         (header.collector_lock_word.load(std::memory_order_relaxed) & FUTEX_OWNER_DIED) != 0;
}

// A free process slot, claimed; kProcessSlots when there is none.
uint32_t try_process_slot(const SessionView& session) {
  for (uint32_t index = 0; index < kProcessSlots; ++index) {
    auto& state = session.process(index).state;
    SlotState expected = SlotState::kFree;
    if (state.load(std::memory_order_relaxed) == SlotState::kFree &&
        state.compare_exchange_strong(expected, SlotState::kClaimed)) {
      return index;
    }
  }
  return kProcessSlots;
}

// The same, but waits for the slot of a dead process if need be: the collector frees those by
// itself.
uint32_t claim_process_slot(const SessionView& session) {
  SessionHeader& header = session.header();
  uint32_t index = try_process_slot(session);
  const int naps = header.on_full == OnFull::kBlock ? kNaps : 0;
  for (int i = 0; i < naps && index == kProcessSlots && !is_over(header); ++i) {
    nap();
    index = try_process_slot(session);
  }
  if (index == kProcessSlots) header.turned_away.fetch_add(1, std::memory_order_relaxed);
  return index;
}

// Fills in the claimed slot `index`, and makes it and `session` this process's.
void publish_process(SessionView session, uint32_t index, uint32_t pid, uint64_t parent_serial) {
  ProcessSlot& slot = session.process(index);
  slot.flags = description.flags;
  slot.pid = pid;
  slot.serial = session.header().serials.fetch_add(1) + 1;
  slot.parent_serial = parent_serial;
  slot.initial_break = description.initial_break;
  std::memcpy(slot.allocator_path, description.allocator_path, kAllocatorPathBytes);
  slot.nested = 0;
  slot.lost = 0;
  slot.bootstrap = early_bootstrap_calls.exchange(0);
  process.session = session;
  process.slot = index;
  process.pid = own_pid();
  process.serial = slot.serial;
  process.stamped = false;
  rings_claimed = 0;
  slot.state.store(SlotState::kRunning, std::memory_order_release);
  session.header().claims.fetch_add(1);
  process.recording = true;
}

void copy_allocator_path(char* out, const void* real_malloc_function) {
  Dl_info info{};
  const bool found = dladdr(real_malloc_function, &info) != 0 && info.dli_fname != nullptr;
  const char* const path = found ? info.dli_fname : "";
  const size_t length = strnlen(path, kAllocatorPathBytes - 1);
  std::memcpy(out, path, length);
  out[length] = 0;
}

// In a child made by fork: a process of its own, on the heap of its parent.
bool attach_forked_child() {
  const SessionView session = process.session;
  if (session.header().follow == Follow::kNone) return false;
  const uint32_t index = claim_process_slot(session);
  if (index == kProcessSlots) return false;
  description.flags |= kSlotForked;
  // A parent that cannot be named is in another pid namespace than we are.
  if (raw_syscall(SYS_getppid) == 0) description.flags |= kSlotForeignPids;
  publish_process(session, index, own_pid(), process.serial);
  return true;
}

// True when this process has a slot. In a forked child, the first thread that comes gets one, and
// the others wait for it: for some instructions, or, where all slots are taken, for its naps.
bool ensure_own_slot() {
  Attachment expected = Attachment::kNone;
  if (fork_detector->attachment.compare_exchange_strong(expected, Attachment::kUnderWay)) {
    if (!attach_forked_child()) detach_process();
    fork_detector->attachment.store(Attachment::kDone);
  }
  for (int i = 0; !has_own_slot(); ++i) {
    if (i < kYields) {
      raw_syscall(SYS_sched_yield);
    } else {
      nap();
    }
  }
  return process.recording.load();
}

// A free ring, claimed; the lowest one, so that little of the mapping is ever touched.
RingHeader* claim_ring(uint32_t* index_out) {
  for (uint32_t index = 0; index < kRings; ++index) {
    RingHeader& ring = process.session.ring(index);
    RingState expected = RingState::kFree;
    if (ring.state.load(std::memory_order_relaxed) == RingState::kFree &&
        ring.state.compare_exchange_strong(expected, RingState::kClaimed)) {
      *index_out = index;
      return &ring;
    }
  }
  return nullptr;
}

RingHeader* wait_for_ring(uint32_t* index_out) {
  SessionHeader& header = process.session.header();
  if (header.on_full != OnFull::kBlock) return nullptr;
  for (int i = 0; i < kNaps && !session_is_over(); ++i) {
    header.ring_wanted = 1;
    wake_collector();
    nap();
    if (RingHeader* ring = claim_ring(index_out)) return ring;
  }
  return nullptr;
}

}  // namespace

Process process = {};

void attach_process(const void* real_malloc_function) {
  const Joined joined = join_session();
  if (joined.session.valid()) adopt_session(joined.session, joined.pid, real_malloc_function);
}

void adopt_session(SessionView session, uint32_t pid, const void* real_malloc_function) {
  if (!map_private_state()) return;
  const uint32_t index = claim_process_slot(session);
  if (index == kProcessSlots) return;
  description.flags = pid == own_pid() ? 0 : uint32_t{kSlotForeignPids};
  description.initial_break = static_cast<uint64_t>(raw_syscall(SYS_brk, 0));
  copy_allocator_path(description.allocator_path, real_malloc_function);
  fork_detector->attachment = Attachment::kDone;
  publish_process(session, index, pid, 0);
}

bool has_own_slot() {
  return fork_detector->attachment.load(std::memory_order_acquire) == Attachment::kDone;
}

ThreadState* attach_thread(IfNoRing if_no_ring) {
  if (!ensure_own_slot()) return nullptr;
  if (session_is_over()) {
    detach_process();
    return nullptr;
  }
  uint32_t index = 0;
  RingHeader* ring = claim_ring(&index);
  if (ring == nullptr && if_no_ring == IfNoRing::kWait) ring = wait_for_ring(&index);
  if (ring == nullptr) return nullptr;
  uint64_t* words = map_ring_words(process.session, index);
  if (words == nullptr) {
    ring->state = RingState::kFree;
    return nullptr;
  }
  // Invariant: stamped is set before the second thread gives a block up, or hands one on, for the
  // first time, so any thread that gets a block from it sees the flag.
  // docs/decisions/0002-order.md.
  if (rings_claimed.fetch_add(1) == 1) process.stamped = true;
  ring->process_slot = process.slot;
  // A vfork child borrows its parent's thread, and its tid ends before the ring's use does: 0 is a
  // thread that nobody finds dead.
  ring->tid = own_pid() == process.pid ? static_cast<uint32_t>(raw_syscall(SYS_gettid)) : 0;
  ThreadState& state = thread_states[index];
  state = {ring, words, 0, 0, 0, false};
  ring->state.store(RingState::kOwned, std::memory_order_release);
  process.session.header().claims.fetch_add(1);
  return &state;
}

void detach_process() {
  process.recording = false;
}

bool session_is_over() {
  return is_over(process.session.header());
}

void wake_collector() {
  auto& sleep = process.session.header().collector_sleep;
  if (sleep.load(std::memory_order_relaxed) == CollectorSleep::kAwake) return;
  sleep.store(CollectorSleep::kAwake);
  raw_syscall(SYS_futex, as_long(&sleep), FUTEX_WAKE, 1);
}

void count_bootstrap_call() {
  if (process.recording && has_own_slot()) {
    process.session.process(process.slot).bootstrap.fetch_add(1, std::memory_order_relaxed);
  } else {
    early_bootstrap_calls.fetch_add(1, std::memory_order_relaxed);
  }
}

void count_nested_call() {
  if (!process.recording || !has_own_slot()) return;
  process.session.process(process.slot).nested.fetch_add(1, std::memory_order_relaxed);
}

void count_lost_call() {
  if (!process.recording || !has_own_slot()) return;
  process.session.process(process.slot).lost.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace heaptape::recorder
