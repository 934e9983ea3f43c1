// What the stack log of a thread keeps, and where it comes from: memory of its own, which a forked
// child uses anew.
#pragma once

#include <cstdint>

#include "recorder/interposer/frame_numbers.h"
#include "recorder/interposer/stack_log.h"
#include "recorder/interposer/stack_walk.h"

namespace heaptape::recorder {

// What a walk compares of a frame.
struct KeptSlot {
  uintptr_t address;  // as Position::slot
  uintptr_t return_address;
};

// A frame of this stack that is not known from the one before.
struct FreshFrame {
  Position position;
  uint8_t basis;  // of the step from here: as StackWalker::step() has it
};

struct StackLog {
  StackLog* made_before;  // a list of the process's, or of its parent's

  // The stack before. Its frames by index, the outermost first, in arrays: a walk that finds them
  // all unchanged reads little of each.
  uint32_t depth;
  bool at_limit;  // it had more frames than were asked for
  uint32_t root;  // the number of the mark that stands for what is further out; 0: nothing is
  KeptSlot slots[kMostStackFrames];
  uint8_t basis[kMostStackFrames];          // of the step to what is further out
  uintptr_t frame_homes[kMostStackFrames];  // as in Position
  uintptr_t frame_pointers[kMostStackFrames];
  uint32_t numbers[kMostStackFrames];

  // This stack's new frames, from the innermost on.
  uint32_t news;
  FreshFrame fresh[kMostStackFrames + 1];

  bool is_walking;
  uint64_t publishing;  // ThreadState::head once the frame is published that is about to be; or 0
  uint32_t published_number;  // of that frame

  FrameNumbers numbers_in_ring;

  StackWalker walker;
};

// Null: there is no memory, or none may be asked for.
StackLog* make_stack_log();

}  // namespace heaptape::recorder
