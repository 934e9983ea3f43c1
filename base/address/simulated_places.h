// Addresses for the blocks of an unknown heap.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace heaptape::base {

// Blocks of one heap never overlap. Freed places are reused, last in first out by size, so that the
// same calls get the same places. Memory grows with the free places, and so with the most blocks
// that were ever live at once; the caller keeps its live blocks. One thread.
class SimulatedPlaces {
 public:
  // A multiple of `alignment`, a power of two, with room for `size` bytes. Nothing if that would
  // lie above kAddressLimit.
  std::optional<uint64_t> take(uint64_t size, uint64_t alignment);
  // Gives back what take() returned for a block of `size` bytes.
  void give_back(uint64_t address, uint64_t size) { free_[room_of(size)].push_back(address); }
  // Where a block of `old_size` bytes at `address` is after a resize to `size`: in place if there
  // is room, else elsewhere. Its old place is then given back.
  std::optional<uint64_t> resize(uint64_t address, uint64_t old_size, uint64_t size);

 private:
  static uint64_t room_of(uint64_t size);

  uint64_t next_ = 0x100000000000;
  std::map<uint64_t, std::vector<uint64_t>> free_;  // by room, addresses
};

}  // namespace heaptape::base
