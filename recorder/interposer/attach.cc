#include "recorder/interposer/attach.h"

#include <linux/futex.h>
#include <linux/prctl.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstring>

#include "recorder/interposer/claims.h"
#include "recorder/interposer/describe_allocator.h"
#include "recorder/interposer/handshake_client.h"
#include "recorder/interposer/session_map.h"
#include "recorder/interposer/stack_log.h"
#include "recorder/ring/bounded_text.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr int kMadvWipeOnFork = 18;           // linux/mman.h; missing from older libc headers
constexpr unsigned long kProgramInAuxv = 31;  // AT_EXECFN of getauxval(3)

constexpr int kYields = 1000;

enum class Attachment : uint32_t {
  kNone = 0,  // left by a fork
  kUnderWay = 1,
  kDone = 2,  // also on failure: process.recording is false then
};

// Cleared in a forked child, like the thread states after it.
struct alignas(64) ForkDetector {
  std::atomic<Attachment> attachment;
  alignas(64) char others[kClearedBytes];
};

// A process's own description in its slot. Kept for the children that it forks: by the time they
// need it, another process may have the slot.
struct Description {
  uint32_t flags;
  uint32_t pid;  // as the collector sees it; of a forked process, as it sees itself
  uint64_t initial_break;
  char program[kProgramBytes];
  AllocatorFacts allocator;
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

uint32_t stack_frames_of(const Board& board) {
  const uint32_t frames = static_cast<const volatile uint32_t&>(board.stack_frames);
  return frames < kMostStackFrames ? frames : kMostStackFrames;
}

uint64_t stack_bytes_of(const Board& board) {
  const uint64_t bytes = static_cast<const volatile uint64_t&>(board.stack_bytes);
  return bytes < kMostStackBytes ? bytes : kMostStackBytes;
}

// Differs between programs.
uint64_t own_seed() {
  uint64_t seed = 0;
  if (const unsigned long bytes = getauxval(AT_RANDOM); bytes != 0) {
    std::memcpy(&seed, reinterpret_cast<const void*>(bytes), sizeof seed);
  }
  return seed;
}

void publish_process(SessionView session, const ClaimedSlot& claimed, uint64_t parent_serial,
                     uint64_t code_map) {
  ProcessSlot& slot = *claimed.slot;
  slot.flags = description.flags;
  slot.pid = description.pid;
  slot.behind = 0;
  slot.serial = uint64_t{session.pool().number} << 32 | (session.header().serials.fetch_add(1) + 1);
  slot.parent_serial = parent_serial;
  slot.initial_break = description.initial_break;
  std::memcpy(slot.program, description.program, kProgramBytes);
  slot.allocator = description.allocator;
  clear_counts(slot);
  slot.bootstrap = early_bootstrap_calls.exchange(0);
  slot.code_map = code_map;
  slot.code_wanted = 0;
  slot.unseen = 0;
  slot.fork = process.fork;
  process.session = session;
  process.stack_frames = stack_frames_of(session.board());
  if (process.stack_frames != 0) process.needs.fetch_or(kNeedsStacks);
  process.unwinding = session.board().unwinding;
  process.sampling.begin(stack_bytes_of(session.board()), own_seed() + slot.serial);
  process.sampling.choose(session.board().stack_sizes);
  process.code_map = code_map;
  process.awaits_start = session.board().pause != Pause::kNone;
  if (process.awaits_start) process.owes_settings = true;
  process.slot = &slot;
  process.slot_index = claimed.index;
  process.pid = own_pid();
  process.serial = slot.serial;
  slot.state.store(SlotState::kRunning, std::memory_order_release);
  announce_claim(session);
  process.recording = true;
}

void describe_process(uint32_t pid, const AllocatorFacts& allocator) {
  description.flags = pid == own_pid() ? 0 : uint32_t{kSlotForeignPids};
  description.pid = pid;
  description.initial_break = static_cast<uint64_t>(raw_syscall(SYS_brk, 0));
  description.allocator = allocator;
  const auto* path = reinterpret_cast<const char*>(getauxval(kProgramInAuxv));
  if (path == nullptr) return;
  const char* const slash = std::strrchr(path, '/');
  copy_text(description.program, slash != nullptr ? slash + 1 : path);
}

// Joins as a new process: a forked child, on the heap of its parent and mostly in a pool of its
// own, or a process that the collector took for dead because all the threads it knew of were gone.
bool attach_anew(uint32_t flags) {
  const SessionView session = process.session;
  if (session.board().follow == Follow::kNone && (flags & kSlotForked) != 0) return false;
  if (process.quiet) {
    session.lobby().filtered.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const ClaimedSlot claimed = claim_process_slot(session);
  if (claimed.slot == nullptr) return false;
  description.flags |= flags;
  if ((flags & kSlotForked) != 0) description.pid = own_pid();
  // A parent without a visible pid is in another pid namespace.
  if (raw_syscall(SYS_getppid) == 0) description.flags |= kSlotForeignPids;
  process.owes_settings = true;
  // Its code is unchanged.
  publish_process(session, claimed, process.serial, process.code_map);
  return true;
}

// True when this process has a slot. In a forked child, the first thread to arrive gets one, and
// the others wait for it: for some instructions or, if all slots are taken, for its naps.
bool ensure_own_slot() {
  Attachment expected = Attachment::kNone;
  if (fork_detector->attachment.compare_exchange_strong(expected, Attachment::kUnderWay)) {
    process.needs = kNeedsNothing;
    rings_claimed = 0;
    inherit_stack_logs();
    if (!attach_anew(kSlotForked)) detach_process();
    fork_detector->attachment.store(Attachment::kDone);
  }
  for (uint32_t i = 0; !has_own_slot(); ++i) {
    if (i >= kYields + 2 * kPatienceMs) return false;  // that thread left by a jump
    if (i < kYields) {
      raw_syscall(SYS_sched_yield);
    } else {
      nap_ms();
    }
  }
  return process.recording.load();
}

// The collector may have taken this process for dead: the threads that it knew of are, and the pid
// means nothing to it. The first thread to notice joins anew.
bool keep_slot() {
  for (;;) {
    ProcessSlot& slot = *process.slot;
    if (slot.state.load() == SlotState::kRunning && slot.serial == process.serial) return true;
    Attachment expected = Attachment::kDone;
    if (fork_detector->attachment.compare_exchange_strong(expected, Attachment::kUnderWay)) {
      const bool joined = attach_anew(0);
      if (!joined) detach_process();
      fork_detector->attachment.store(Attachment::kDone);
      return joined;
    }
    if (!ensure_own_slot()) return false;
  }
}

void describe_thread(RingHeader& ring) {
  const auto id = static_cast<uint32_t>(raw_syscall(SYS_gettid));
  ring.thread_id = id;
  ring.thread_block = id == own_pid() ? 0 : reinterpret_cast<uint64_t>(__builtin_thread_pointer());
  if (raw_syscall(SYS_prctl, PR_GET_NAME, as_long(ring.thread_name)) != 0) ring.thread_name[0] = 0;
}

bool publish_ring(RingHeader& ring) {
  for (;;) {
    const uint64_t serial = process.serial;
    ring.process_slot = process.slot_index.load();
    ring.process_serial = serial;
    ring.state.store(RingState::kOwned);
    announce_claim(process.session);
    if (!keep_slot()) return false;
    if (process.serial == serial) return true;
  }
}

// The initial ThreadState::bytes_until_stack of a thread.
uint64_t bytes_until_first_stack() {
  if (process.stack_frames == 0) return UINT64_MAX;
  return process.sampling.is_by_size() ? 0 : process.sampling.draw();
}

// Null before the process has a slot, and after it has left the recording.
ProcessSlot* counting_slot() {
  return process.recording && !process.awaits_start && has_own_slot() ? process.slot.load()
                                                                      : nullptr;
}

}  // namespace

constinit Process process = {};
constinit ThreadState unusable_state = {};

void attach_process(const void* real_malloc_function) {
  const Joined joined = join_session(describe_allocator(real_malloc_function));
  if (!joined.session.valid()) return;
  process.recorder = joined.recorder;
  adopt_session(joined.session, joined.pid, joined.code_map, joined.allocator);
}

void adopt_session(SessionView session, uint32_t pid, uint64_t code_map,
                   const AllocatorFacts& allocator) {
  if (!map_private_state()) return;
  const ClaimedSlot claimed = claim_process_slot(session);
  if (claimed.slot == nullptr) return;
  describe_process(pid, allocator);
  fork_detector->attachment = Attachment::kDone;
  process.needs = kNeedsNothing;
  rings_claimed = 0;
  process.waited_in_vain_at = 0;
  process.first_code_map = code_map;
  publish_process(session, claimed, 0, code_map);
}

void* memory_that_forks_clear() {
  return fork_detector->others;
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
  if (process.quiet) return nullptr;
  // A vfork child borrows its parent's thread.
  const auto thread =
      own_pid() == process.pid ? Claimant::Thread::kOwn : Claimant::Thread::kBorrowed;
  const ClaimedRing claimed = claim_ring(process.session, thread, if_no_ring);
  if (claimed.ring == nullptr) return nullptr;
  uint64_t* words = map_ring_words(process.session, claimed.index);
  if (words == nullptr) return &unusable_state;
  // Invariant: stamped is set before the second thread first gives a block up or hands one on, so
  // any thread that gets a block from it sees the flag. docs/decisions/0002-order.md.
  if (rings_claimed.fetch_add(1) == 1) process.needs.fetch_or(kNeedsStamps);
  ThreadState& state = thread_states[claimed.index];
  StackLog* const stacks = state.stacks;  // of a thread that had the ring before
  if (stacks != nullptr) empty_stack_log(*stacks);
  state = {claimed.ring, words, 0, 0, 0, bytes_until_first_stack(), false, 0, stacks};
  if (process.sampling.is_by_size()) draw_other(state);
  describe_thread(*claimed.ring);
  if (!publish_ring(*claimed.ring)) return nullptr;
  // The collector must see which threads live by now.
  if (process.stamped()) wake_collector(process.session.lobby());
  return &state;
}

void detach_process() {
  process.recording = false;
}

bool is_over(const Board& board) {
  return board.stopped.load(std::memory_order_relaxed) != 0 ||
         (board.collector_lock_word.load(std::memory_order_relaxed) & FUTEX_OWNER_DIED) != 0;
}

bool session_is_over() {
  return is_over(process.session.board());
}

bool session_is_off() {
  const Board& board = process.session.board();
  return board.pause.load(std::memory_order_relaxed) != Pause::kNone || is_over(board);
}

void wake_collector(Lobby& lobby) {
  if (process.quiet.load(std::memory_order_relaxed)) return;
  auto& sleep = lobby.collector_sleep;
  if (sleep.load(std::memory_order_relaxed) == CollectorSleep::kAwake) return;
  sleep.store(CollectorSleep::kAwake);
  raw_syscall(SYS_futex, as_long(&sleep), FUTEX_WAKE, 1);
}

void count_bootstrap_call() {
  if (ProcessSlot* slot = counting_slot()) {
    slot->bootstrap.fetch_add(1, std::memory_order_relaxed);
  } else {
    early_bootstrap_calls.fetch_add(1, std::memory_order_relaxed);
  }
}

void add_nested_call() {
  if (ProcessSlot* slot = counting_slot()) slot->nested.fetch_add(1, std::memory_order_relaxed);
}

void count_ringless_call() {
  if (ProcessSlot* slot = counting_slot()) {
    slot->lost_ringless.fetch_add(1, std::memory_order_relaxed);
  }
}

void count_interrupted_calls(uint64_t calls, uint64_t nested) {
  if (ProcessSlot* slot = counting_slot()) {
    slot->nested.fetch_sub(nested, std::memory_order_relaxed);
    slot->lost_interrupted.fetch_add(calls, std::memory_order_relaxed);
  }
}

}  // namespace heaptape::recorder
