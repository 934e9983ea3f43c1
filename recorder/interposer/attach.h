// How a process joins a recording session, and how its threads get their rings.
#pragma once

#include <cstdint>

#include "recorder/interposer/claims.h"
#include "recorder/interposer/stack_sampling.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

struct StackLog;

// Parts of the process's records besides addresses and sizes. Flags.
enum RecordNeeds : uint8_t {
  kNeedsNothing = 0,
  kNeedsStamps = 1,  // it has, or had, more than one thread
  kNeedsStacks = 2,
};

// A thread's state for writing records. Lives in memory that the kernel clears in a forked child
// (MADV_WIPEONFORK): `limit` is then 0, so the child's first record takes the slow path, which
// notices the fork at no cost to the fast one. One cache line.
struct alignas(64) ThreadState {
  RingHeader* ring;  // null: not attached, or cleared by a fork
  uint64_t* words;
  uint64_t head;   // next word to write, as RingHeader::head
  uint64_t limit;  // end of the current segment
  uint64_t tail;   // RingHeader::tail as last seen
  // The next call that asks for this many bytes or more goes to log_stack(); a smaller one
  // subtracts its bytes. 0: every call does.
  uint64_t bytes_until_stack;
  uint64_t dropping : 1;  // the collector made no room in time: lose calls, do not wait again
  // The same countdown for calls that are not chosen by size, where others are: then
  // bytes_until_stack stays 0. A draw is far below 2^63.
  uint64_t bytes_until_other : 63;
  StackLog* stacks;  // null if none yet
};
static_assert(sizeof(ThreadState) == 64);

// The session as this process sees it. `session` never changes once it is set, except in a forked
// child that still has one thread (spare_pools.cc): while one thread finds that the session is
// over, others may be in the middle of a record.
struct Process {
  SessionView session;
  std::atomic<bool> recording;  // false before and after the recording
  // The recording is to begin later, or again (Board::pause), as far as a thread has noticed.
  std::atomic<bool> awaits_start;
  uint32_t stack_frames;       // Board::stack_frames
  Unwinding unwinding;         // Board::unwinding
  StackSampling sampling;      // by Board::stack_bytes
  std::atomic<uint8_t> needs;  // RecordNeeds
  // How many filters and modes that forbid system calls (seccomp(2)) are in force or being
  // requested. If any is, we make no system calls. Threads that have a ring go on without waking
  // the collector; others are not recorded.
  std::atomic<uint32_t> quiet;
  // Board::progress when a thread last waited in vain: until it moves, no other waits.
  std::atomic<uint32_t> waited_in_vain_at;
  std::atomic<ProcessSlot*> slot;  // this process's, in the session
  // These change when the process joins anew, `serial` last: a reader that sees it sees the others.
  std::atomic<uint32_t> slot_index;
  std::atomic<uint32_t> pid;     // as it sees itself; a vfork child that runs in it has another
  std::atomic<uint64_t> serial;  // ProcessSlot::serial
  // ProcessSlot::code_map, as a thread last saw it: a forked child begins with it.
  std::atomic<uint64_t> code_map;
  std::atomic<bool> owes_settings;  // its tape lacks the lasting_settings
  uint32_t fork;                    // ProcessSlot::fork, of a child
  uint64_t first_code_map;          // at joining: its code that no dlclose unmaps
  uint32_t recorder;                // its pid, see recorder_process.h

  bool stamped() const { return (needs.load(std::memory_order_relaxed) & kNeedsStamps) != 0; }
};
extern Process process;

// Joins the session named in the environment, if any. `real_malloc_function` lies in the library
// that serves malloc. Called once, in the process's first call to its allocator.
void attach_process(const void* real_malloc_function);

// The second half of attach_process, for a session that is already mapped. `pid` is this process as
// the collector sees it, `code_map` its ProcessSlot::code_map. The calling thread owns the
// process's slot from then on.
void adopt_session(SessionView session, uint32_t pid, uint64_t code_map,
                   const AllocatorFacts& allocator);

// Memory of kClearedBytes that a fork of any kind clears in the child. Requires that the process
// has joined.
inline constexpr size_t kClearedBytes = 512;
void* memory_that_forks_clear();

// Whether the process has a slot of its own. A forked child has none before its first record.
bool has_own_slot();

// A state, with a ring of its own, for a thread that has none; null when the session is over or has
// no free ring, and &unusable_state when no ring can be mapped: another attempt would take another
// ring. A forked child first joins the session as a process of its own.
ThreadState* attach_thread(IfNoRing if_no_ring);
extern ThreadState unusable_state;

// Sets ThreadState::bytes_until_other for the next chosen call.
inline void draw_other(ThreadState& state) {
  constexpr uint64_t kMask = UINT64_MAX >> 1;
  state.bytes_until_other = process.sampling.draw() & kMask;
}

// Stops recording in this process, for good.
void detach_process();

// The collector has ended, or was killed.
bool is_over(const Board& board);
bool session_is_over();
// Nothing is recorded now: the session is over, or pauses.
bool session_is_off();
// Only if it sleeps.
void wake_collector(Lobby& lobby);

// Count one more call for the summary: served from the bootstrap arena (even before there is a
// session), made by the allocator itself, or made by a thread without a ring.
void count_bootstrap_call();
void add_nested_call();
void count_ringless_call();
// Counts calls that are lost because a signal handler interrupted a hook; `nested` of them were
// taken for the allocator's own at first, by add_nested_call().
void count_interrupted_calls(uint64_t calls, uint64_t nested = 0);

}  // namespace heaptape::recorder
