// The holes of a heap by address: answers what a walk of the free list would find, and how many
// holes it would examine on the way, without making it. Each subtree knows its largest hole and the
// number of its holes; the rest is a treap (Seidel and Aragon, "Randomized Search Trees", 1996),
// whose random numbers are the same in every run.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/textbook/boundary_tags.h"

namespace heaptape::allocators::textbook {

// A hole and the number of holes at lower addresses.
struct RankedHole {
  Hole hole;
  uint64_t rank = 0;
};

// Every operation takes time logarithmic in the number of holes.
class HoleTree {
 public:
  HoleTree() : nodes_(1) {}

  uint64_t count() const { return nodes_[root_].count; }

  // There must be no hole at its address.
  void insert(Hole hole);
  void erase(uint64_t address);
  // `hole` replaces the hole at `address`, at the same place in the order.
  void replace(uint64_t address, Hole hole);

  // The lowest hole of at least `bytes`; its `hole` is none if there is none.
  RankedHole lowest_fit(uint64_t bytes) const { return lowest_fit(root_, bytes, 0); }
  // The same among those at or above `from`. `skipped`: how many are below that.
  RankedHole lowest_fit_from(uint64_t from, uint64_t bytes, uint64_t& skipped);
  // The highest fit among those below `limit`; none if there is none.
  Hole highest_fit_before(uint64_t limit, uint64_t bytes);
  // How many holes are below `address`.
  uint64_t rank(uint64_t address) const;

 private:
  using Index = uint32_t;  // 0 if none

  struct Node {
    Hole hole;
    uint64_t largest = 0;  // of the subtree
    Index left = 0;
    Index right = 0;
    Index count = 0;  // of the subtree
    uint32_t priority = 0;
  };

  RankedHole lowest_fit(Index node, uint64_t bytes, uint64_t rank) const;
  Hole highest_fit(Index node, uint64_t bytes) const;
  Index new_node(Hole hole);
  Index* descend(uint64_t address);
  void split(Index node, uint64_t address, Index& below, Index& above);
  Index join(Index below, Index above);
  void pull(Index node);
  void pull_path(size_t from = 0);

  std::vector<Node> nodes_;
  std::vector<Index> free_nodes_;
  std::vector<Index> path_;  // scratch: from the root downward
  Index root_ = 0;
  uint32_t random_ = 2463534242;
};

}  // namespace heaptape::allocators::textbook
