// The numbers that the frames of a thread's stacks have in its ring. docs/decisions/0022-stacks.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/ring/record.h"

namespace heaptape::recorder {

// A frame is known by the number of its caller and the address to which it returns. Numbers are
// given from 1, in turn. They form a tree, kept as a hash table with linear probing. An array
// before it has for each frame the one that it called last: frames of one stack mostly get their
// numbers together, so these lie side by side, where places in the table are misses of the cache.
//
// One thread. All zero at first; has no constructor, for memory that comes so from mmap. What a
// signal handler leaves by a jump stays whole.
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
  struct Frame {
    uintptr_t return_address;
    uint32_t caller;
    uint32_t number;  // 0: this place is free
  };
  struct Callee {
    uintptr_t return_address;
    uint32_t number;  // 0: none yet

    void set(uintptr_t address, uint32_t its_number);
  };
  // In one piece of memory: this, then a Callee for each number, then the places of frames, twice
  // as many.
  struct Table {
    uint32_t places_log2;

    uint32_t most() const { return 1u << (places_log2 - 1); }
    Callee* callees() { return reinterpret_cast<Callee*>(this + 1); }
    Frame* places() { return reinterpret_cast<Frame*>(callees() + most() + 1); }
    size_t bytes() { return bytes_of(places_log2); }
    Frame& find_place(uint32_t caller, uintptr_t return_address);
    static size_t bytes_of(uint32_t places_log2);
    static Table* make(uint32_t places_log2);
  };

  static constexpr uint32_t kFirstPlacesLog2 = 11;
  static constexpr uint32_t kMostPlacesLog2 = 23;  // 192 MiB
  static_assert(kMostRingFrames == 1u << (kMostPlacesLog2 - 1));

  Table* table_;
  uint32_t count_;
};

}  // namespace heaptape::recorder
