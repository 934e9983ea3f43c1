// Writes records into the calling thread's ring. The fast path is a compare, a few stores and a
// release store of the head; everything else is in make_room().
#pragma once

#include <cstdint>

#include "recorder/interposer/attach.h"
#include "recorder/interposer/lasting_settings.h"
#include "recorder/interposer/stack_log.h"
#include "recorder/ring/record.h"
#include "recorder/ring/stamp.h"

namespace heaptape::recorder {

// In ThreadLocal::hook: its call is on the ring, or counted as lost, though it is not over.
inline constexpr uint64_t kAccounted = 1;

// The operator new under way: a malloc that it calls is recorded in its name. See hooks_new.cc.
struct NewHint {
  bool pending = false;
  Op op = Op::kNew;
  uint64_t size = 0;
  uint64_t alignment = 0;
  uintptr_t frame = 0;
};

// The hooks' state for each thread. Its TLS model is initial-exec and it has no constructor, so
// that reaching it never allocates.
struct ThreadLocal {
  ThreadState* state = nullptr;
  // The hook under way (hook_scope.h); 0 if none. The low 48 bits are its stack pointer, in whose
  // lowest bits kAccounted fits, the high 16 the number of calls within it so far, so that one
  // store begins a hook.
  uint64_t hook = 0;
  uint32_t calls_until_look = 0;  // before it looks for a ring again, having found none
  uint32_t unseen_calls = 0;      // before the start of the recording
  bool ringless = false;          // the last look found no ring
  bool uses_arena = false;        // looking up symbols: its allocations are ours, not the program's
  NewHint hint = {};
  // The block of the operator delete under way, which may call free.
  const void* expected_free = nullptr;
  // In libc's fork(), in which there is one thread at a time. (spare_pools.cc)
  bool forks = false;
  uint64_t blocked_before_fork = 0;  // signals
  PoolView childs_pool = {};         // its first page; none: no base
  bool fork_is_marked = false;       // by a record
};

extern constinit thread_local ThreadLocal thread_local_state
    __attribute__((tls_model("initial-exec")));

// The calling thread's state, with a ring of its own; null if the thread is not recorded.
[[gnu::cold, gnu::noinline]] ThreadState* find_state();

enum class RecordOf : uint8_t {
  kCall,
  // A call that is recorded in a pause as well: one that steers the allocator, since settings
  // outlast pauses, or a resize that began before.
  kCallInPause,
  // A frame or a setting, whose call follows and counts its own loss; a call that maps memory.
  kOther,
};

// Whether the recording goes on, where a thread has seen that it pauses: it begins, or begins
// again, when the recorder says so. Counts the call if it has never begun.
[[gnu::cold, gnu::noinline]] bool has_started(RecordOf what = RecordOf::kCall);
// Whether the call of the hook under way is recorded. Two loads once the recording has begun, and
// two more between its intervals.
inline bool is_recording() {
  if (!process.recording.load(std::memory_order_relaxed)) return false;
  if (!process.awaits_start.load(std::memory_order_relaxed)) [[likely]]
    return true;
  const Board& board = process.session.board();
  return board.pause.load(std::memory_order_relaxed) != Pause::kBetween && has_started();
}

// Stops recording the calling thread; its calls are counted as lost.
void leave_thread_unrecorded();

// Keeps the compiler from moving stores across, so a signal handler of this thread sees them in
// order.
[[gnu::always_inline]] inline void in_order() {
  asm volatile("" ::: "memory");
}

// Like find_state(), with room for any record in the current segment; null if this one cannot be
// written. A call is then counted as lost, unless the recording has ended, or pauses.
[[gnu::cold, gnu::noinline]] ThreadState* make_room(RecordOf what);

// A call's record ends before `head`.
[[gnu::always_inline]] inline void publish(ThreadState& state, uint64_t head) {
  state.ring->head.store(head, std::memory_order_release);
  in_order();
  thread_local_state.hook |= kAccounted;
  in_order();
  state.head = head;
}

// One record: construct, check ok(), put() its words, publish().
//
// A signal handler may leave the hook by a jump between any two instructions. Then RingHeader::head
// says what is published, and abandon_hook() (hook_scope.h) goes on from there. So a word is stored
// before the head moves past it, and the order of publish() tells whether a call is accounted for:
// if it is, RingHeader::head is ahead of ThreadState::head, or kAccounted is set.
class RecordWriter {
 public:
  [[gnu::always_inline]] explicit RecordWriter(RecordOf what = RecordOf::kCall)
      : state_(thread_local_state.state) {
    if (state_->head + kMaxRecordWords > state_->limit) [[unlikely]]
      state_ = make_room(what);
    // Only now: the thread may just have become the second one of its process.
    stamped_ = process.stamped();
  }
  bool ok() const { return state_ != nullptr; }
  bool stamped() const { return stamped_; }

  [[gnu::always_inline]] void put(uint64_t word) {
    state_->words[(state_->head + used_++) % kRingWords] = word;
  }
  void publish() { recorder::publish(*state_, state_->head + used_); }
  void publish_frame() {
    in_order();
    state_->head += used_;
    in_order();
    state_->ring->head.store(state_->head, std::memory_order_release);
  }

 private:
  ThreadState* state_;
  uint32_t used_ = 0;
  bool stamped_;
};

// A record that needs neither a stamp nor a stack: its first word, then `more`. False, and nothing
// is written, if it does need them, or if there is no room yet.
template <typename... Words>
[[gnu::always_inline]] inline bool record_plain(Op op, const void* block, Words... more) {
  static_assert(1 + sizeof...(more) <= kMaxRecordWords);
  ThreadState* const state = thread_local_state.state;
  const uint64_t head = state->head;
  if (head + kMaxRecordWords > state->limit) [[unlikely]]
    return false;
  // Only now, after a call that hands a block out: it may come from a thread that has just become
  // the second one.
  if (process.needs.load(std::memory_order_relaxed) != kNeedsNothing) [[unlikely]]
    return false;
  uint64_t* word = state->words + head % kRingWords;
  *word = first_word(op, reinterpret_cast<uint64_t>(block), false);
  ((*++word = more), ...);
  publish(*state, head + 1 + sizeof...(more));
  return true;
}

// The number of the stack that called the hook with this frame for `size` bytes; 0 if it is not
// recorded. A call for no bytes counts as one for a byte.
uint32_t stack_of_hook(uint64_t size, uintptr_t frame);

// Any record of a call. They are out of line: a stamp or a stack costs more than the call.
[[gnu::noinline]] void record_whole_allocation(Op op, const void* block, uint64_t size,
                                               const uint64_t* alignment, uintptr_t frame);
[[gnu::noinline]] void record_whole_release(Op op, const void* block);
[[gnu::noinline]] void record_whole_resize(Op op, const void* old_block, uint64_t size,
                                           const void* block, uint64_t begin_stamp,
                                           uintptr_t frame);

// After the call. `frame` is the hook's. `alignment` only matters for ops that take one.
template <bool kAligned>
[[gnu::always_inline]] inline void record_allocation(Op op, const void* block, uint64_t size,
                                                     uint64_t alignment, uintptr_t frame) {
  if constexpr (kAligned) {
    if (record_plain(op, block, size, alignment)) [[likely]]
      return;
    record_whole_allocation(op, block, size, &alignment, frame);
  } else {
    if (record_plain(op, block, size)) [[likely]]
      return;
    record_whole_allocation(op, block, size, nullptr, frame);
  }
}

// Before the call.
[[gnu::always_inline]] inline void record_release(Op op, const void* block) {
  if (!record_plain(op, block)) [[unlikely]]
    record_whole_release(op, block);
}

inline void put_steering(RecordWriter& record, schema::SteeringOp op, int64_t first,
                         int64_t second) {
  record.put(steering_word(op, record.stamped()));
  if (record.stamped()) record.put(take_stamp(process.session));
  record.put(static_cast<uint64_t>(first));
  record.put(static_cast<uint64_t>(second));
}

// After the call.
inline void record_steering(schema::SteeringOp op, int64_t first, int64_t second) {
  lasting_settings.note(op, first, second);
  RecordWriter record(RecordOf::kCallInPause);
  if (!record.ok()) [[unlikely]]
    return;
  put_steering(record, op, first, second);
  record.publish();
}

// After a call that maps memory, before one that gives it back. Its loss is not counted.
inline void record_mapping(schema::MappingOp op, uint64_t address, uint64_t bytes, uint64_t detail,
                           const void* caller, uint32_t stack) {
  RecordWriter record(RecordOf::kOther);
  if (!record.ok()) [[unlikely]]
    return;
  record.put(mapping_word(address, record.stamped(), stack != 0));
  if (record.stamped()) record.put(take_stamp(process.session));
  record.put(bytes);
  record.put(detail);
  record.put(reinterpret_cast<uint64_t>(caller) << kAddressShift | static_cast<uint64_t>(op));
  if (stack != 0) record.put(stack);
  record.publish();
}

// Before a fork. Its loss is not counted.
inline void record_fork(uint32_t number) {
  RecordWriter record(RecordOf::kOther);
  if (!record.ok()) [[unlikely]]
    return;
  record.put(fork_word(number, record.stamped()));
  if (record.stamped()) record.put(take_stamp(process.session));
  record.publish();
}

// The begin stamp of a resize that began in a pause: it is on no tape, even if it ends behind it.
// No stamp of either clock, of which one begins at 1.
inline constexpr uint64_t kBeganInPause = ~uint64_t{0};

// Before a resize, for record_resize(); 0 while there is one thread. A thread without a ring gets
// one here, before its first call can give a block up: from then on other threads stamp. Announces
// that `old_block` may be given up at any moment, so that the merge knows what to wait for.
inline uint64_t resize_begin_stamp(const void* old_block) {
  if (process.awaits_start.load(std::memory_order_relaxed) && !has_started()) [[unlikely]]
    return kBeganInPause;
  ThreadState* state = thread_local_state.state;
  if (state->ring == nullptr) [[unlikely]]
    state = find_state();
  if (state == nullptr) [[unlikely]]
    return 0;
  state->ring->resizing.store(reinterpret_cast<uint64_t>(old_block), std::memory_order_relaxed);
  if (!process.stamped()) return 0;
  return take_stamp(process.session);
}

// The resize is over, and its record published or lost.
inline void end_resize() {
  RingHeader* const ring = thread_local_state.state->ring;
  if (ring != nullptr) ring->resizing.store(0, std::memory_order_release);
}

// After the call. `frame` is the hook's.
inline void record_resize(Op op, const void* old_block, uint64_t size, const void* block,
                          uint64_t begin_stamp, uintptr_t frame) {
  if (!record_plain(op, block, size, reinterpret_cast<uint64_t>(old_block))) [[unlikely]] {
    record_whole_resize(op, old_block, size, block, begin_stamp, frame);
  }
  end_resize();
}

}  // namespace heaptape::recorder
