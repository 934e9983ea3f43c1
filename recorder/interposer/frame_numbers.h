// Numbers of the frames of a thread's stacks in its ring. docs/decisions/0022-stacks.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/ring/near_callees.h"
#include "recorder/ring/record.h"

namespace heaptape::recorder {

// A frame is identified by its caller's number and its return address. Numbers are given from 1, in
// turn. They form a tree: an array by number holds each frame and up to four of its callees. Frames
// with more callees have all of them in a hash table with linear probing as well. A place in the
// table is a cache miss; frames of one stack mostly get their numbers together, so they lie side by
// side in the array.
//
// One thread. All zero at first; has no constructor, for memory that comes so from mmap. A signal
// handler that leaves by a jump leaves it whole: at worst a frame cannot be found any more.
class FrameNumbers {
 public:
  // Makes room for the next frame, by mmap. False if there is no memory.
  bool make_room();
  // The number of a known frame, else 0.
  uint32_t find(uint32_t caller, uintptr_t return_address);
  // Gives the frame, which is not yet known, the next number. Requires room.
  uint32_t add(uint32_t caller, uintptr_t return_address);
  // The highest number.
  uint32_t count() const { return count_; }
  // Gives the next number to a frame that cannot be found.
  void skip() { ++count_; }

  // Forgets all frames, and returns their memory.
  void clear();

 private:
  // Half a cache line.
  struct alignas(32) Frame {
    uintptr_t return_address;
    uint32_t caller : 31;
    uint32_t is_spilled : 1;  // the table has all of its callees
    NearCallees callees;      // all unless it is spilled
  };
  // Hash << 32 | number; 0 if the place is free.
  using Place = uint64_t;

  // A mapping of its own for a header and 1 << log2 items, all zero at first.
  template <typename Item>
  struct alignas(64) Block {
    uint32_t log2;

    Item& operator[](size_t i) { return reinterpret_cast<Item*>(this + 1)[i]; }
    size_t size() const { return size_t{1} << log2; }
    static Block* make(uint32_t log2);
    void unmap();
  };

  static constexpr uint32_t kFirstLog2 = 9;
  static constexpr uint32_t kMostFramesLog2 = 22;
  static_assert(kMostRingFrames == 1u << kMostFramesLog2);

  template <typename Item, typename Copy>
  static bool grow(Block<Item>*& block, uint32_t most_log2, Copy copy);
  bool is(uint32_t number, uint32_t caller, uintptr_t return_address) const;
  uint32_t find_spilled(uint32_t caller, uintptr_t return_address);
  void add_callee(uint32_t caller, uint32_t number, uintptr_t return_address);
  void spill(uint32_t caller);
  void add_place(uint32_t caller, uint32_t number);

  Block<Frame>* frames_;  // by number
  Block<Place>* places_;
  uint32_t places_used_;
  uint32_t count_;
};

}  // namespace heaptape::recorder
