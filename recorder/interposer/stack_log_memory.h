// The contents of a thread's stack log, and its memory, which belongs to the thread and which a
// forked child reuses.
#pragma once

#include <cstdint>

#include "recorder/interposer/frame_numbers.h"
#include "recorder/interposer/stack_log.h"
#include "recorder/interposer/stack_walk.h"

namespace heaptape::recorder {

// The part of a frame that a walk compares.
struct KeptSlot {
  uintptr_t address;  // like Position::slot
  uintptr_t return_address;
};

// A frame of this stack that the last one lacks.
struct FreshFrame {
  Position position;
  uint8_t basis;  // of the step from here: as in StackWalker::step()
};

struct StackLog {
  StackLog* made_before;  // a list of the process's, or of its parent's

  // The last stack. Its frames by index, the outermost first, in arrays: a walk that finds them all
  // unchanged reads little of each.
  uint32_t depth;
  bool at_limit;  // it had more frames than the limit
  uint32_t root;  // the number of the mark for frames further out; 0 if there are none
  KeptSlot slots[kMostStackFrames];
  uint8_t basis[kMostStackFrames];          // of the step outwards
  uintptr_t frame_homes[kMostStackFrames];  // as in Position
  uintptr_t frame_pointers[kMostStackFrames];
  uint32_t numbers[kMostStackFrames];

  // This stack's new frames, beginning with the innermost.
  uint32_t news;
  FreshFrame fresh[kMostStackFrames + 1];

  bool is_walking;
  uint64_t publishing;        // ThreadState::head after publishing the frame under way; or 0
  uint32_t published_number;  // of that frame

  FrameNumbers numbers_in_ring;

  StackWalker walker;
};

// Null if there is no memory, or none may be requested.
StackLog* make_stack_log();

}  // namespace heaptape::recorder
