// The numbers that the frames of a thread's stacks have in its ring. docs/decisions/0022-stacks.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/ring/near_callees.h"
#include "recorder/ring/record.h"

namespace heaptape::recorder {

// A frame is known by the number of its caller and the address to which it returns. Numbers are
// given from 1, in turn. They form a tree: an array by number has of each frame what it is, and up
// to four that it called. All callees of those that called more are in a hash table with linear
// probing, too. A place in the table is a miss of the cache; frames of one stack mostly get their
// numbers together, so in the array they lie side by side.
//
// One thread. All zero at first; has no constructor, for memory that comes so from mmap. What a
// signal handler leaves by a jump stays whole: at worst a frame cannot be found any more.
class FrameNumbers {
 public:
  // Makes room for the next frame, by mmap. False: there is none.
  bool make_room();
  // Of a known frame, else 0.
  uint32_t find(uint32_t caller, uintptr_t return_address);
  // Gives the frame, which is not known, the next number. Requires room.
  uint32_t add(uint32_t caller, uintptr_t return_address);
  // The highest number.
  uint32_t count() const { return count_; }
  // The next number is that of a frame that cannot be found.
  void skip() { ++count_; }

  // Forgets all frames, and gives back their memory.
  void clear();

 private:
  // Half a cache line.
  struct alignas(32) Frame {
    uintptr_t return_address;
    uint32_t caller : 31;
    uint32_t is_spilled : 1;  // the table has all of its callees
    NearCallees callees;      // all unless it is spilled
  };
  // Hash << 32 | number; 0: the place is free.
  using Place = uint64_t;

  // Memory of its own for 1 << log2 of what is behind it, all zero at first.
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
