// Writes a scenario's calls, as a program that runs on an arbitrary allocator.
#pragma once

#include <cstdint>

#include "base/address/simulated_places.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::scenarios {

// xorshift64 (Marsaglia, "Xorshift RNGs", 2003): the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed == 0 ? 1 : seed) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  // Below `limit`, which is at least 1 and far below 2^40.
  uint64_t below(uint64_t limit) { return (next() >> 20) % limit; }

 private:
  uint64_t state_;
};

// A live block of the tape.
struct Block {
  uint64_t address = 0;  // 0: none
  uint64_t size = 0;     // as requested
};

// Thrown when continuing is pointless; becomes the error of write_scenario().
struct Stopped {
  base::Error error;
};

// Appends calls and makes up their addresses, as SimulatedPlaces does.
//
// Calls that need a place throw Stopped if it would lie above the addresses of a tape, or if the
// tape can no longer be written. Frees never throw: destructors call them.
class HeapWriter {
 public:
  explicit HeapWriter(schema::TapeWriter& tape) : tape_(tape) {}

  // The thread of the following calls; 0 at first.
  void set_thread(uint32_t thread) { thread_ = thread; }

  Block malloc(uint64_t size) { return allocate(schema::Op::kMalloc, size, 0); }
  Block calloc(uint64_t size) { return allocate(schema::Op::kCalloc, size, 0); }
  Block valloc(uint64_t size) { return allocate(schema::Op::kValloc, size, 0); }
  // `alignment` is a power of two, at most 2 MiB.
  Block posix_memalign(uint64_t alignment, uint64_t size) {
    return allocate(schema::Op::kPosixMemalign, size, alignment);
  }
  // Sets `block` to its new place and size.
  void realloc(Block& block, uint64_t size);
  // Frees `block` and sets it to none.
  void free(Block& block);
  void free(Block&& block) { free(block); }
  // free(NULL): ignored by allocators, a marker for some models.
  void free_null();

 private:
  Block allocate(schema::Op op, uint64_t size, uint64_t alignment);
  uint64_t take(uint64_t size, uint64_t alignment);

  schema::TapeWriter& tape_;
  uint32_t thread_ = 0;
  base::SimulatedPlaces places_;
};

}  // namespace heaptape::scenarios
