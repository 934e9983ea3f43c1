#include "recorder/interposer/stack_log.h"

#include "recorder/interposer/producer.h"
#include "recorder/interposer/stack_log_memory.h"

namespace heaptape::recorder {
namespace {

// The frame's number; 0 if it is new and cannot be added.
uint32_t number_of(StackLog& log, uint32_t caller, uintptr_t return_address) {
  const uint32_t known = log.numbers_in_ring.find(caller, return_address);
  if (known != 0) return known;
  if (!log.numbers_in_ring.make_room()) return 0;
  RecordWriter record(RecordOf::kOther);
  if (!record.ok()) return 0;
  record.put(frame_word(caller));
  record.put(return_address);
  log.published_number = log.numbers_in_ring.count() + 1;
  log.publishing = thread_local_state.state->head + 2;
  in_order();
  record.publish_frame();
  in_order();
  const uint32_t number = log.numbers_in_ring.add(caller, return_address);
  in_order();
  log.publishing = 0;
  return number;
}

// As stored in the ring.
uintptr_t marked(uintptr_t return_address, uint8_t basis) {
  return (basis & kByGuess) == 0 ? return_address : return_address | schema::kGuessFlag;
}

bool holds(StackMemory& memory, uintptr_t address, uintptr_t word) {
  uintptr_t found = 0;
  return memory.read(address, found) && found == word;
}

// A walk from the inside out.
class Walk {
 public:
  Walk(StackLog& log, uint32_t most) : log_(log), most_(most), left_(log.depth) {}

  // The number of the stack; 0 if it cannot be had.
  uint32_t run(uintptr_t hook_frame);

 private:
  bool go();
  bool meets_kept(const Position& position);
  bool follow(uintptr_t home);
  void move_home(uint32_t index, uintptr_t home);
  bool take_kept(uint32_t inner, uint32_t outer);
  bool end();
  bool cut(schema::StackEnd why);
  uint32_t number_frames();

  StackLog& log_;
  const uint32_t most_;
  uint32_t left_;       // kept frames that the walk may come to
  uint32_t known_ = 0;  // kept frames that also belong to this stack
};

uint32_t Walk::run(uintptr_t hook_frame) {
  log_.news = 0;
  // More may be known about the same frames now.
  if (log_.walker.begin(hook_frame, log_.fresh[0].position)) [[unlikely]]
    left_ = 0;
  const bool has_root = go();
  log_.depth = known_;
  return has_root ? number_frames() : 0;
}

// Walks to the outermost frame, or to a kept one from which all is known. False if the mark of a
// cut gets no number.
bool Walk::go() {
  for (;;) {
    const Position& here = log_.fresh[log_.news].position;
    if (meets_kept(here)) {
      const uint32_t met = left_ - 1;
      if (follow(here.frame_home)) return true;
      if (!take_kept(met, left_)) return cut(schema::StackEnd::kDepth);
    } else {
      ++log_.news;
    }
    FreshFrame& last = log_.fresh[log_.news - 1];
    const Step step = log_.walker.step(last.position, (&last)[1].position, last.basis);
    if (step == Step::kEnd) return end();
    if (step == Step::kCut) return cut(log_.walker.cut());
    if (log_.news == most_) return cut(schema::StackEnd::kDepth);
  }
}

// Whether the last stack has the same code at the same place. Its frames further in are gone.
bool Walk::meets_kept(const Position& position) {
  while (left_ > 0 && log_.slots[left_ - 1].address < position.slot) --left_;
  if (left_ == 0 || position.slot == 0) return false;
  const KeptSlot& kept = log_.slots[left_ - 1];
  return kept.address == position.slot && kept.return_address == position.return_address;
}

// Goes outwards from the kept frame that was met, while kept frames are still in place; `home` is
// where the frame pointer is now. True if everything further out is known. Else the frames outwards
// to `left_` are the same, and the walk continues from there by the rules.
//
// If the same code is at the same place, so is its caller's slot, unless that depends on the frame
// pointer, which must then also be the same.
bool Walk::follow(uintptr_t home) {
  StackMemory& memory = log_.walker.memory();
  const uint32_t met = left_ - 1;
  if (log_.frame_homes[met] != home) move_home(met, home);
  uint32_t at = met;
  bool is_whole = false;
  for (;; --at) {
    if (log_.basis[at] != 0 && !holds(memory, log_.frame_homes[at], log_.frame_pointers[at])) break;
    is_whole = at == 0;
    if (is_whole) break;
    const KeptSlot& outer = log_.slots[at - 1];
    if (outer.address == 0 || !holds(memory, outer.address, outer.return_address)) break;
  }
  left_ = at;
  const uint32_t total = log_.news + met + 1;
  if (!is_whole || !(log_.at_limit ? total == most_ : total <= most_)) return false;
  known_ = met + 1;
  return true;
}

// Moves the frame pointer's place in a kept frame, and in those further out that have the same
// place. Invariant: each kept frame knows where its frame pointer was in the last walk that came
// by.
void Walk::move_home(uint32_t index, uintptr_t home) {
  const uintptr_t before = log_.frame_homes[index];
  for (uint32_t i = index + 1; i-- > 0 && log_.frame_homes[i] == before;)
    log_.frame_homes[i] = home;
}

// Treats the kept frames from `inner` outwards to `outer` as new. False if there is not room for
// all of them.
bool Walk::take_kept(uint32_t inner, uint32_t outer) {
  for (uint32_t i = inner + 1; i-- > outer;) {
    if (log_.news == most_) return false;
    FreshFrame& taken = log_.fresh[log_.news++];
    taken.position.slot = log_.slots[i].address;
    taken.position.return_address = log_.slots[i].return_address;
    taken.position.stack_pointer = log_.slots[i].address + sizeof(uintptr_t);
    taken.position.frame_home = log_.frame_homes[i];
    taken.position.frame_pointer = log_.frame_pointers[i];
    taken.basis = log_.basis[i];
  }
  Position& last = log_.fresh[log_.news - 1].position;
  if (!log_.walker.memory().read(last.frame_home, last.frame_pointer)) last.frame_pointer = 0;
  return true;
}

// Ends at the outermost frame.
bool Walk::end() {
  log_.root = 0;
  log_.at_limit = false;
  return true;
}

// Ends before the outermost frame.
bool Walk::cut(schema::StackEnd why) {
  log_.root = number_of(log_, 0, static_cast<uintptr_t>(why));
  log_.at_limit = why == schema::StackEnd::kDepth;
  return log_.root != 0;
}

// Numbers the new frames, from the outermost in, which are then kept.
uint32_t Walk::number_frames() {
  uint32_t at = known_;
  uint32_t number = at == 0 ? log_.root : log_.numbers[at - 1];
  while (log_.news > 0) {
    const FreshFrame& frame = log_.fresh[--log_.news];
    number = number_of(log_, number, marked(frame.position.return_address, frame.basis));
    if (number == 0) return 0;
    log_.slots[at].address = frame.position.slot;
    log_.slots[at].return_address = frame.position.return_address;
    log_.basis[at] = frame.basis;
    log_.frame_homes[at] = frame.position.frame_home;
    log_.frame_pointers[at] = frame.position.frame_pointer;
    log_.numbers[at] = number;
    log_.depth = ++at;
  }
  return number;
}

// The last walk was left by a jump, out of a signal handler that interrupted it. A published frame
// may be missing from the table.
void recover(StackLog& log, const ThreadState& state) {
  log.depth = 0;
  const bool is_published = log.publishing != 0 && state.head >= log.publishing;
  if (is_published && log.numbers_in_ring.count() < log.published_number) {
    log.numbers_in_ring.skip();
  }
  log.publishing = 0;
}

// Null if the calling thread records no stacks.
ThreadState* state_with_stacks() {
  if (process.stack_frames == 0) return nullptr;
  ThreadState* const state = thread_local_state.state;
  if (state->ring == nullptr) [[unlikely]]
    return find_state();
  return state;
}

// Where calls for certain sizes are chosen: the others are chosen by their bytes, or not at all.
bool is_due_by_size(ThreadState& state, uint64_t bytes) {
  if (process.sampling.is_chosen(bytes)) return true;
  if (!process.sampling.is_by_bytes()) return false;
  if (bytes < state.bytes_until_other) {
    constexpr uint64_t kMask = UINT64_MAX >> 1;
    state.bytes_until_other = (state.bytes_until_other - bytes) & kMask;
    return false;
  }
  draw_other(state);
  return true;
}

bool is_due(ThreadState& state, uint64_t bytes) {
  if (process.sampling.is_by_size()) return is_due_by_size(state, bytes);
  if (bytes < state.bytes_until_stack) {  // it had no ring before
    state.bytes_until_stack -= bytes;
    return false;
  }
  state.bytes_until_stack = process.sampling.draw();
  return true;
}

uint32_t walk(ThreadState* state, uintptr_t hook_frame) {
  if (state->stacks == nullptr) [[unlikely]]
    state->stacks = make_stack_log();
  if (state->stacks == nullptr) [[unlikely]]
    return 0;
  StackLog& log = *state->stacks;
  if (log.is_walking) [[unlikely]]
    recover(log, *state);
  log.is_walking = true;
  in_order();
  const uint32_t number = Walk(log, process.stack_frames).run(hook_frame);
  in_order();
  log.is_walking = false;
  return number;
}

}  // namespace

uint32_t log_stack(uint64_t bytes, uintptr_t hook_frame) {
  ThreadState* const state = state_with_stacks();
  if (state == nullptr) return 0;
  return is_due(*state, bytes) ? walk(state, hook_frame) : 0;
}

uint32_t log_stack_of_mapping(uintptr_t hook_frame) {
  ThreadState* const state = state_with_stacks();
  return state == nullptr ? 0 : walk(state, hook_frame);
}

}  // namespace heaptape::recorder
