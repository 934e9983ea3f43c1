// Simulated memory in which a page is committed exactly while a block touches it. No headers;
// blocks lie on any multiple of 16 bytes; address space costs nothing. This class finds places, and
// foresight_model.h chooses among them.
//
//   page     |   0    |   1    |   2    |   3    |   4    |      committed: 0, 1 and 4
//   blocks   |AAA..BBB|CC......|        |        |..DDDDDD|
//                ^^ run  ^^^^^^ run, and tail      ^^ run
//                        |------- stretch --------|
//
// A run is free and committed. A tail is a run with nothing committed after it; a block that begins
// there continues on new pages. A stretch is all free space from there on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "allocators/models/address_table.h"
#include "allocators/models/bit_ranges.h"
#include "allocators/models/free_extents.h"
#include "allocators/models/model.h"
#include "allocators/models/textbook/hole_tree.h"

namespace heaptape::allocators::foresight {

inline constexpr int kGranuleLog2 = 4;
inline constexpr uint64_t kGranuleBytes = uint64_t{1} << kGranuleLog2;
inline constexpr uint32_t kPageGranules = kPageBytes >> kGranuleLog2;

// The granules of a page that belong to blocks.
using GranuleBits = BitRanges<kPageGranules>;

// The sort key of pages; equal ones are sorted by address.
enum class PageOrder : uint8_t {
  kAddress,
  kRoom,   // the room they have
  kDeath,  // when the last of their blocks dies
};

// Ticks of the clock that measures deaths; kNever comes after all of them.
using Tick = uint32_t;
inline constexpr int kTickBits = 30;
inline constexpr Tick kNever = (Tick{1} << kTickBits) - 1;

// A block to be placed. Its size is a multiple of kGranuleBytes, and not 0.
struct NewBlock {
  uint64_t bytes = 0;
  uint64_t alignment = kGranuleBytes;  // at least that; a power of two
  Tick death = kNever;
};

// A page that has room for a block.
struct Candidate {
  uint64_t page = 0;   // its address
  Tick death = 0;      // of its last block, as known now
  uint64_t bytes = 0;  // of that room
  uint64_t key = 0;    // its sort key
};

// The room of a page: its longest run, its tail, or the stretch that begins after its last block.
// Only pages that blocks touch have any.
enum class Room : uint8_t { kRun, kTail, kStretch };
inline constexpr size_t kRooms = 3;

// Every operation takes time logarithmic in the pages that blocks share. Memory: 88 bytes for each
// page on which a block begins or ends, and for its neighbors. One thread.
class PageHeap {
 public:
  PageHeap(AddressSpace& space, PageOrder order);

  // Among pages whose room has `bytes`: the first whose key is at least `from`, and the last whose
  // key is below `before`.
  std::optional<Candidate> first_from(Room room, uint64_t bytes, uint64_t from);
  std::optional<Candidate> last_before(Room room, uint64_t bytes, uint64_t before);
  // The least key of the pages that die at `death` or later; if pages are not sorted by their
  // deaths, the least of all keys.
  uint64_t key_at(Tick death) const;

  // Where the block would lie in the page's shortest run that is long enough, including one that
  // continues on the next page. 0 if the alignment leaves no place.
  uint64_t place_in_run(uint64_t page, const NewBlock& block) const;
  // Where it would lie at the beginning of the page's stretch; 0 if that is too short. Ignores
  // alignments above kGranuleBytes.
  uint64_t place_in_stretch(uint64_t page, const NewBlock& block) const;
  // On pages of its own, all of them new; 0 if there is no address space.
  uint64_t place_on_new_pages(const NewBlock& block);

  // How many pages a block there would add.
  uint64_t new_pages(uint64_t address, uint64_t bytes) const {
    return added(address, bytes).bytes() / kPageBytes;
  }

  // `address` was returned for the same block.
  void take(uint64_t address, const NewBlock& block);
  void give_back(uint64_t address, uint64_t bytes);

 private:
  // The ends of a block and the pages next to them inside it, which are all that neighbors look
  // at.
  struct Edges;
  struct Page {
    GranuleBits used;
    Tick death;
    // Sort keys, in trees_.
    std::array<uint64_t, kRooms> keys;   // 0 if it has no such room
    std::array<uint64_t, kRooms> rooms;  // in granules
  };
  static_assert(sizeof(Page) == 88);

  const GranuleBits& used(uint64_t page) const;
  uint64_t key(uint64_t page, Tick death, uint64_t granules) const;
  std::optional<Candidate> candidate(const textbook::Hole& hole) const;
  textbook::HoleTree& sorted(Room room) { return trees_[static_cast<size_t>(room)]; }
  // The pages that only this block touches.
  AddressRange added(uint64_t address, uint64_t bytes) const;
  // The gap that contains `page`; empty if it is committed.
  AddressRange gap_around(uint64_t page) const;
  uint64_t stretch_end(uint64_t page) const;
  // Calls visit(begin, end) for each run that begins in the page: in granules of the page; the end
  // may lie beyond it.
  template <typename Visit>
  void for_each_run(uint64_t page, Visit visit) const;
  // After a block came or went.
  void sort_in(const Edges& edges);
  void sort_in(uint64_t page);

  AddressSpace& space_;
  const PageOrder order_;
  AddressTable<Page, kPageLog2> pages_;
  FreeExtents gaps_;  // address space not committed, in whole pages
  // For each kind of room: pages by key, each as long as its room in granules.
  std::array<textbook::HoleTree, kRooms> trees_;
};

}  // namespace heaptape::allocators::foresight
