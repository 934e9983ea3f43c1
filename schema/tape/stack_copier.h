// Puts the stacks of one tape onto another.
#pragma once

#include <cstddef>
#include <vector>

#include "schema/tape/stack.h"
#include "schema/tape/tape_encoder.h"

namespace heaptape::schema {

// Frames get new numbers, in the order in which they are requested, and mappings keep their places
// between them. A stack ends at a lost frame, for an unknown reason. One thread.
class StackCopier {
 public:
  // Both must outlive the copier. Copies nothing from a tape without stacks.
  StackCopier(const Stacks& stacks, TapeEncoder& tape);

  // To be called before a call with this stack is appended. Returns its number on the other tape.
  FrameNumber copy(FrameNumber stack);
  // What the other tape has so far.
  const Stacks& copies() const { return copies_; }
  // After the last call.
  void finish() { add_mappings_up_to(kMostFrames); }

 private:
  void add_mappings_up_to(FrameNumber frames);

  const Stacks& stacks_;
  TapeEncoder& tape_;
  std::vector<FrameNumber> copied_;  // by number; 0: not yet
  size_t mappings_ = 0;              // that were copied
  Stacks copies_;
};

}  // namespace heaptape::schema
