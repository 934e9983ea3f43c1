#include "allocators/models/textbook/hole_tree.h"

#include <algorithm>

#include "base/check.h"

namespace heaptape::allocators::textbook {

HoleTree::Index HoleTree::new_node(Hole hole) {
  Index node;
  if (free_nodes_.empty()) {
    node = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    node = free_nodes_.back();
    free_nodes_.pop_back();
  }
  // xorshift32 (Marsaglia, "Xorshift RNGs", 2003)
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  nodes_[node] = {hole, hole.bytes, 0, 0, 1, random_};
  return node;
}

inline void HoleTree::pull(Index index) {
  Node& node = nodes_[index];
  const Node& left = nodes_[node.left];
  const Node& right = nodes_[node.right];
  node.largest = std::max({node.hole.bytes, left.largest, right.largest});
  node.count = left.count + right.count + 1;
}

void HoleTree::pull_path(size_t from) {
  while (path_.size() > from) {
    pull(path_.back());
    path_.pop_back();
  }
}

// The link to the node of `address`, which must exist; the nodes above it are on path_.
HoleTree::Index* HoleTree::descend(uint64_t address) {
  path_.clear();
  Index* link = &root_;
  while (nodes_[*link].hole.address != address) {
    HEAPTAPE_CHECK(*link != 0);
    path_.push_back(*link);
    Node& node = nodes_[*link];
    link = address < node.hole.address ? &node.left : &node.right;
  }
  return link;
}

void HoleTree::insert(Hole hole) {
  const Index added = new_node(hole);
  path_.clear();
  Index* link = &root_;
  while (*link != 0 && nodes_[*link].priority >= nodes_[added].priority) {
    path_.push_back(*link);
    Node& node = nodes_[*link];
    link = hole.address < node.hole.address ? &node.left : &node.right;
  }
  const Index subtree = *link;
  *link = added;
  const size_t depth = path_.size();
  split(subtree, hole.address, nodes_[added].left, nodes_[added].right);
  pull_path(depth);
  path_.push_back(added);
  pull_path();
}

// Splits the subtree of `node` into `below` and `above`, by address. Leaves the nodes it changes on
// path_, each after its ancestors.
void HoleTree::split(Index node, uint64_t address, Index& below, Index& above) {
  Index* low = &below;
  Index* high = &above;
  while (node != 0) {
    path_.push_back(node);
    if (nodes_[node].hole.address < address) {
      *low = node;
      low = &nodes_[node].right;
      node = *low;
    } else {
      *high = node;
      high = &nodes_[node].left;
      node = *high;
    }
  }
  *low = 0;
  *high = 0;
}

void HoleTree::erase(uint64_t address) {
  Index* const link = descend(address);
  const Index gone = *link;
  *link = join(nodes_[gone].left, nodes_[gone].right);
  pull_path();
  free_nodes_.push_back(gone);
}

// Joins two trees, all of `below` being below all of `above`; adds its changed nodes to path_.
HoleTree::Index HoleTree::join(Index below, Index above) {
  Index joined = 0;
  Index* link = &joined;
  while (below != 0 && above != 0) {
    if (nodes_[below].priority >= nodes_[above].priority) {
      path_.push_back(below);
      *link = below;
      link = &nodes_[below].right;
      below = *link;
    } else {
      path_.push_back(above);
      *link = above;
      link = &nodes_[above].left;
      above = *link;
    }
  }
  *link = below != 0 ? below : above;
  return joined;
}

void HoleTree::replace(uint64_t address, Hole hole) {
  const Index node = *descend(address);
  nodes_[node].hole = hole;
  path_.push_back(node);
  pull_path();
}

RankedHole HoleTree::lowest_fit(Index index, uint64_t bytes, uint64_t rank) const {
  if (nodes_[index].largest < bytes) return {};
  for (;;) {
    const Node& node = nodes_[index];
    const Node& left = nodes_[node.left];
    if (left.largest >= bytes) {
      index = node.left;
      continue;
    }
    rank += left.count;
    if (node.hole.bytes >= bytes) return {node.hole, rank};
    ++rank;
    index = node.right;
  }
}

RankedHole HoleTree::lowest_fit_from(uint64_t from, uint64_t bytes, uint64_t& skipped) {
  path_.clear();  // nodes at or above `from` whose left subtrees are not wholly so
  skipped = 0;
  for (Index index = root_; index != 0;) {
    const Node& node = nodes_[index];
    if (node.hole.address < from) {
      skipped += nodes_[node.left].count + 1;
      index = node.right;
    } else {
      path_.push_back(index);
      index = node.left;
    }
  }
  uint64_t rank = skipped;
  for (; !path_.empty(); path_.pop_back()) {
    const Node& node = nodes_[path_.back()];
    if (node.hole.bytes >= bytes) return {node.hole, rank};
    ++rank;
    if (nodes_[node.right].largest >= bytes) return lowest_fit(node.right, bytes, rank);
    rank += nodes_[node.right].count;
  }
  return {};
}

// There must be one under `index`.
Hole HoleTree::highest_fit(Index index, uint64_t bytes) const {
  for (;;) {
    const Node& node = nodes_[index];
    if (nodes_[node.right].largest >= bytes) {
      index = node.right;
    } else if (node.hole.bytes >= bytes) {
      return node.hole;
    } else {
      index = node.left;
    }
  }
}

Hole HoleTree::highest_fit_before(uint64_t limit, uint64_t bytes) {
  path_.clear();  // nodes below `limit` whose right subtrees are not wholly so
  for (Index index = root_; index != 0;) {
    const Node& node = nodes_[index];
    if (node.hole.address < limit) path_.push_back(index);
    index = node.hole.address < limit ? node.right : node.left;
  }
  for (; !path_.empty(); path_.pop_back()) {
    const Node& node = nodes_[path_.back()];
    if (node.hole.bytes >= bytes) return node.hole;
    if (nodes_[node.left].largest >= bytes) return highest_fit(node.left, bytes);
  }
  return {};
}

uint64_t HoleTree::rank(uint64_t address) const {
  uint64_t rank = 0;
  for (Index index = root_; index != 0;) {
    const Node& node = nodes_[index];
    if (node.hole.address < address) {
      rank += nodes_[node.left].count + 1;
      index = node.right;
    } else {
      index = node.left;
    }
  }
  return rank;
}

}  // namespace heaptape::allocators::textbook
