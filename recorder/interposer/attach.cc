#include "recorder/interposer/attach.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>

#include "recorder/interposer/handshake_client.h"
#include "recorder/interposer/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr int kMadvWipeOnFork = 18;  // linux/mman.h; missing from older libc headers

// Cleared in a forked child, like the thread states behind it.
struct alignas(64) ForkDetector {
  bool attached;
};

ForkDetector* fork_detector = nullptr;
ThreadState* thread_states = nullptr;  // [kRings], by ring
std::atomic<uint64_t> early_bootstrap_calls{0};
std::atomic<uint32_t> rings_claimed{0};  // by this process

ProcessSlot& own_slot() {
  return process.session.process(process.slot);
}

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

// A free process slot, claimed; kProcessSlots when there is none.
uint32_t claim_process_slot(const SessionView& session) {
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

void publish_process(ProcessSlot& slot) {
  slot.nested = 0;
  slot.lost = 0;
  slot.bootstrap = early_bootstrap_calls.exchange(0);
  fork_detector->attached = true;
  rings_claimed = 0;
  process.stamped = false;
  slot.state.store(SlotState::kRunning, std::memory_order_release);
  process.session.header().claims.fetch_add(1);
}

void copy_allocator_path(char* out, const void* real_malloc_function) {
  Dl_info info{};
  const bool found = dladdr(real_malloc_function, &info) != 0 && info.dli_fname != nullptr;
  const size_t length = found ? strnlen(info.dli_fname, kAllocatorPathBytes - 1) : 0;
  std::memcpy(out, info.dli_fname, length);
  out[length] = 0;
}

// In a child made by fork: a process of its own, on the heap of its parent.
bool attach_forked_child() {
  const SessionView session = process.session;
  const uint32_t parent = process.slot;
  if (session.header().follow == Follow::kNone) return false;
  const uint32_t index = claim_process_slot(session);
  if (index == kProcessSlots) return false;
  ProcessSlot& slot = session.process(index);
  const ProcessSlot& parent_slot = session.process(parent);
  slot.flags = kSlotForked | (parent_slot.flags & kSlotForeignPids);
  slot.pid = static_cast<uint32_t>(raw_syscall(SYS_getpid));
  slot.parent_slot = parent;
  slot.initial_break = parent_slot.initial_break;
  std::memcpy(slot.allocator_path, parent_slot.allocator_path, kAllocatorPathBytes);
  process.slot = index;
  publish_process(slot);
  return true;
}

// A free ring, claimed, from the low end: few are in use, and little of the mapping gets touched.
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
  ProcessSlot& slot = session.process(index);
  const auto own_pid = static_cast<uint32_t>(raw_syscall(SYS_getpid));
  slot.flags = pid == own_pid ? 0 : uint32_t{kSlotForeignPids};
  slot.pid = pid;
  slot.parent_slot = kProcessSlots;
  slot.initial_break = static_cast<uint64_t>(raw_syscall(SYS_brk, 0));
  copy_allocator_path(slot.allocator_path, real_malloc_function);
  process.session = session;
  process.slot = index;
  publish_process(slot);
}

ThreadState* attach_thread() {
  if (!process.session.valid()) return nullptr;
  if (!fork_detector->attached && !attach_forked_child()) {
    detach_process();
    return nullptr;
  }
  if (process.session.header().stopped.load(std::memory_order_relaxed) != 0) {
    detach_process();
    return nullptr;
  }
  uint32_t index = 0;
  RingHeader* ring = claim_ring(&index);
  if (ring == nullptr) return nullptr;
  // Invariant: stamped is set before the second thread's first call reaches the allocator, so any
  // thread that gets a block from it, or gives it one, sees the flag. docs/decisions/0002-order.md.
  if (rings_claimed.fetch_add(1) == 1) process.stamped = true;
  ring->process_slot = process.slot;
  ring->tid = static_cast<uint32_t>(raw_syscall(SYS_gettid));
  ThreadState& state = thread_states[index];
  state = {ring, process.session.words(index), 0, 0, 0, false};
  ring->state.store(RingState::kOwned, std::memory_order_release);
  process.session.header().claims.fetch_add(1);
  return &state;
}

void detach_process() {
  process.session = SessionView();
}

void count_bootstrap_call() {
  if (process.session.valid()) {
    own_slot().bootstrap.fetch_add(1, std::memory_order_relaxed);
  } else {
    early_bootstrap_calls.fetch_add(1, std::memory_order_relaxed);
  }
}

void count_nested_call() {
  if (process.session.valid()) own_slot().nested.fetch_add(1, std::memory_order_relaxed);
}

void count_lost_call() {
  if (process.session.valid()) own_slot().lost.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace heaptape::recorder
