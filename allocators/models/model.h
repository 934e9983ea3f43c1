// What every in-tree model is: an allocator over simulated addresses. It touches no memory of its
// blocks, takes no time but its own, and gives the same answer every time.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "allocators/backend.h"

namespace heaptape::allocators {

inline constexpr uint64_t kModelPageBytes = 4096;
// Where models begin to map: the middle of what Linux gives a process.
inline constexpr uint64_t kModelBase = 0x100000000000;

// A model tells its address space what memory it holds; the engine gets the changes as
// RegionEvents. Purged pages stay committed and lose their contents: they are absent until a block
// is placed on them again.
class AddressSpace {
 public:
  void commit(AddressRange range);
  void decommit(AddressRange range);

  // For the adapter: the changes since the last call, stamped with the op they happened in.
  void begin_op(uint32_t op) { op_ = op; }
  std::vector<RegionEvent>& events() { return events_; }

 private:
  uint32_t op_ = 0;
  std::vector<RegionEvent> events_;
};

// One thread. Sizes and alignments are as the program asked; alignment 0 = the model's own.
template <typename M>
concept AllocatorModel = requires(M model, const M& constant, uint64_t bytes, uint64_t alignment,
                                  uint64_t address) {
  // A new block; address 0 when the model refuses (a size beyond its address space).
  { model.allocate(bytes, alignment) } -> std::same_as<Placement>;
  // The same, to be zeroed: a model may charge itself for the zeroing.
  { model.allocate_zeroed(bytes) } -> std::same_as<Placement>;
  // `address` is of a live block; the result is where the block is now. bytes > 0.
  { model.reallocate(address, bytes) } -> std::same_as<Placement>;
  // `address` is of a live block.
  { model.release(address) } -> std::same_as<void>;
  // Committed pages that hold nothing, ascending.
  { constant.absent() } -> std::same_as<std::vector<AddressRange>>;
  { constant.counters() } -> std::same_as<std::vector<Counter>>;
  { M::traits() } -> std::same_as<BackendTraits>;
};

}  // namespace heaptape::allocators
