// Where the blocks of a heap begin and end: two bits per granule of address space.
//
//   granule    0    1    2    3    4    5    6    7
//   blocks     [AAAAAAAAA]    [B]  [CCCCCC]
//   edges      S.   ..   .E   ..   SE   S.   .E   ..      S = 2 * granule, E = 2 * granule + 1
//
// The stretch between two neighboring edges is free if the first is an end and the second a start.
// So edges alone give the gap around a block, and a block costs two bits, whatever its size.
//
// Rejected: one occupancy bit per granule. It is half as large, so it stays in the cache longer (ns
// per event anywhere in a heap of small blocks: 15 against 18 for 100 MB, 30 against 50 for 2 GB,
// equal below 30 MB), but a block fills its range: 150 against 35 ns for 1 MiB, and for the 2^56
// bytes that a hostile tape can claim, more memory than exists.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/address/address_range.h"
#include "base/address/address_tree.h"
#include "base/address/leaf_bits.h"

namespace heaptape::base {

// A number as in the picture above: ascending by address.
using Edge = uint64_t;

// The result of a search without a hit: the end of a block lies before all edges, the start of one
// after them. So the ends of the address space need no special care.
inline constexpr Edge kBeforeAllEdges = UINT64_MAX;
inline constexpr Edge kAfterAllEdges = 2 * kAddressLimit;

constexpr bool is_start(Edge edge) {
  return (edge & 1) == 0;
}
constexpr bool is_end(Edge edge) {
  return (edge & 1) != 0;
}
constexpr bool is_free_between(Edge first, Edge second) {
  return is_end(first) && is_start(second);
}

// A set of edges of addresses below kAddressLimit, as are those that searches begin at.
// Guarantees:
// - A search, except find_gap(), takes a handful of loads, however far away the answer is; if it
//   leaves its initial 64 MiB, it also consults a map of those in use.
// - An edit of a block makes both its changes or none.
// - Memory is two bits a granule, for the pages of bits that were ever written: these stay.
// One thread. Throws std::bad_alloc.
class EdgeBitmap {
 public:
  // A granule has 1 << granule_log2 bytes: 3 to 6.
  explicit EdgeBitmap(int granule_log2);

  // The start edge of the granule that holds `address`.
  Edge start_at(uint64_t address) const { return address >> granule_log2_ << 1; }
  // The address at an edge: for a start, the first inside; for an end, the first outside.
  uint64_t address_of(Edge edge) const { return (edge + 1) >> 1 << granule_log2_; }

  bool contains(Edge edge) const;
  void insert(Edge edge);
  void erase(Edge edge);

  // The first edge at or after `from`; kAfterAllEdges if there is none.
  Edge find_from(Edge from) const;
  // The first end at or after `from` and before `limit` that is not followed directly by a start: a
  // gap begins there. kAfterAllEdges if there is none. Takes time in the blocks between, 32
  // granules at a time. The last end of a 64 MiB leaf may be returned although a start follows it.
  Edge find_gap(Edge from, Edge limit) const;
  // The last edge before `limit`; kBeforeAllEdges if there is none.
  Edge find_before(Edge limit) const;

  // The per-event edits, which also find the edges around the block. Each works in the normal case:
  // a block is placed in a gap, leaves one, or gets a new end, and meets no other. Otherwise, or if
  // the edges lie in different leaves, it returns nothing and changes nothing.
  struct Gap {
    Edge before;
    Edge after;
  };
  std::optional<Gap> insert_block(Edge start, Edge end);
  std::optional<Gap> erase_block(Edge start, Edge end);
  // Returns the edge after the block.
  std::optional<Edge> move_end(Edge old_end, Edge new_end);

  // Every edge, ascending, without the summaries that searches rely on: slow.
  template <typename Visit>
  void scan(Visit visit) const {
    for (const auto& [key, leaf] : leaves_) {
      const Edge base = key << leaf_edges_log2_;
      leaf->scan(leaf_mask_ + 1, [&](uint64_t bit) { visit(base + bit); });
    }
  }

 private:
  static_assert(LeafBits::kLimit == 2 * kLeafSpan >> 3, "a leaf of 8-byte granules");

  uint64_t leaf_key(Edge edge) const { return edge >> leaf_edges_log2_; }
  Edge leaf_begin(Edge edge) const { return edge & ~leaf_mask_; }
  uint64_t bit_of(Edge edge) const { return edge & leaf_mask_; }
  const LeafBits* find_leaf(Edge edge) const { return tree_.find(edge >> 1 << granule_log2_); }
  LeafBits& leaf_of(Edge edge) { return tree_.leaf(edge >> 1 << granule_log2_); }

  // `leaf` is the edge's.
  void insert(LeafBits& leaf, Edge edge);
  void erase(LeafBits& leaf, Edge edge);
  Edge find_from(const LeafBits& leaf, Edge from) const;
  Edge find_before(const LeafBits& leaf, Edge limit) const;
  Edge first_after_leaf(Edge edge) const;
  Edge last_before_leaf(Edge edge) const;

  int granule_log2_;
  int leaf_edges_log2_;
  uint64_t leaf_mask_;
  AddressTree<LeafBits> tree_;
  std::map<uint64_t, const LeafBits*> leaves_;  // those that hold an edge, by key
};

}  // namespace heaptape::base
