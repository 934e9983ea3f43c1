// Puts the stacks of one tape onto another.
#pragma once

#include <cstddef>
#include <vector>

#include "schema/tape/stack.h"
#include "schema/tape/tape_encoder.h"

namespace heaptape::schema {

// Frames get new numbers, in the order in which they are asked for, and mappings stand between them
// as they did. Where a frame was lost the stack ends, for a reason that nobody knows. One thread.
class StackCopier {
 public:
  // Both outlive the copier. Of a tape without stacks nothing is copied.
  StackCopier(const Stacks& stacks, TapeEncoder& tape);

  // Before a call of this stack is appended: its number on the other tape.
  FrameNumber copy(FrameNumber stack);
  // After the last call.
  void finish() { add_mappings_up_to(kMostFrames); }

 private:
  void add_mappings_up_to(FrameNumber frames);

  const Stacks& stacks_;
  TapeEncoder& tape_;
  std::vector<FrameNumber> copied_;  // by number; 0: not yet
  size_t mappings_ = 0;              // that were copied
};

}  // namespace heaptape::schema
