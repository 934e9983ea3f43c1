// model:foresight: an allocator that cannot move blocks, but knows when each one dies.
// docs/models/foresight.md.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/block_sizes.h"
#include "allocators/models/foresight/page_heap.h"
#include "allocators/models/model.h"

namespace heaptape::allocators {

// How the place of a block is chosen. Whatever it is, a block begins a page only where no page has
// the room.
enum class Placing : uint8_t {
  kFirst,   // on the lowest page
  kFit,     // where the room is the tightest
  kDeaths,  // on the page that dies soonest after the block, else on the one that dies latest
  kBoxes,   // the same among pages that have about as long to live as the block
};
inline constexpr int kPlacings = 4;

class ForesightModel {
 public:
  ForesightModel(AddressSpace& space, Placing placing);

  // Of the next call: when it is, and when the block that it places is freed or resized.
  void set_death(uint32_t now, uint32_t death) {
    now_ = now;
    death_ = death;
  }

  // As SimulatedAllocator says. A resized block is placed anew, when its old place is free again.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  Placement allocate_zeroed(uint64_t bytes) { return allocate(bytes, 0); }
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address);

  std::vector<AddressRange> absent() const { return {}; }
  std::vector<Counter> counters() const { return {}; }
  uint64_t work() const { return 0; }
  static const char* work_unit() { return ""; }
  static BackendTraits traits() { return {.min_hole_bytes = foresight::kGranuleBytes}; }

 private:
  using Room = foresight::Room;
  using NewBlock = foresight::NewBlock;
  using Candidate = foresight::Candidate;

  // Where the block is to lie; 0: nowhere there.
  uint64_t choose_place(const NewBlock& block);
  uint64_t choose_run(const NewBlock& block);
  uint64_t choose_tail(const NewBlock& block);
  uint64_t choose_stretch(const NewBlock& block);
  // Pages with such room, of those that accepts(page) takes; 0: none. Later: pages that die no
  // sooner than the block; earlier: those that it makes live longer. Where pages are not sorted by
  // their deaths, all are later ones.
  template <typename Accepts>
  uint64_t choose_later(Room room, uint64_t bytes, Accepts accepts);
  template <typename Accepts>
  uint64_t choose_earlier(Room room, uint64_t bytes, Accepts accepts);
  // The page with the least room, of `page` and what follows.
  template <typename Next, typename Accepts>
  uint64_t tightest(std::optional<Candidate> page, uint64_t bytes, Next next,
                    Accepts accepts) const;
  bool is_near(uint32_t page_death) const;

  const Placing placing_;
  foresight::PageHeap heap_;
  BlockSizes sizes_;
  uint32_t now_ = 0;
  uint32_t death_ = foresight::kNever;
};
static_assert(SimulatedAllocator<ForesightModel>);

}  // namespace heaptape::allocators
