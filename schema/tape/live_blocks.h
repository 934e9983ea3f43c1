// The blocks that are live after the first calls of a tape: what a replay that begins there has to
// allocate first.
#pragma once

#include <cstdint>
#include <vector>

#include "base/address/address_shadow.h"
#include "schema/tape/event.h"

namespace heaptape::schema {

struct LiveBlock {
  Event birth;  // hands the block out, and gives none up
  FrameNumber stack = 0;
  uint64_t number = 0;  // of that call on its tape, from 1
};

// Whether a resize is the birth of its block, as if malloc had handed that out, or the birth stays
// the call that made the block first, with its thread and stack.
enum class Resized : bool { kIsNew, kKeepsItsBirth };

// Memory grows with blocks at their peak, and with the address space in which they began. One
// thread; calls in the order of the tape.
class LiveBlocks {
 public:
  explicit LiveBlocks(Resized resized = Resized::kIsNew) : resized_(resized) {}

  // Call number `number` of the tape; `stack` is that of its block.
  void add(const Event& event, FrameNumber stack, uint64_t number);

  size_t count() const { return blocks_.size() - free_places_.size(); }
  // Those that are live now, in order of birth.
  std::vector<LiveBlock> list() const;

 private:
  // Where the block was; AddressShadow::kNone: there is none.
  uint32_t release(uint64_t address);

  Resized resized_;
  base::AddressShadow places_;  // in blocks_, by address
  std::vector<LiveBlock> blocks_;
  std::vector<uint32_t> free_places_;
};

}  // namespace heaptape::schema
