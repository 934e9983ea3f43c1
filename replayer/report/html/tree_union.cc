#include "replayer/report/html/tree_union.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace heaptape::replayer {
namespace {

using schema::PinnedName;
using schema::StackTree;
using schema::StackValues;

// The values that both trees have, by index in each.
struct SharedValues {
  std::vector<size_t> of[2];  // side: 0 or 1
  std::vector<PinnedName> pinned;

  SharedValues(const StackTree& base, const StackTree& now) {
    const size_t fixed = schema::kStackValueNames.size();
    for (size_t v = 0; v < fixed; ++v) add(v, v);
    for (size_t i = 0; i < now.pinned.size(); ++i) {
      for (size_t j = 0; j < base.pinned.size(); ++j) {
        PinnedName both = common_part(base.pinned[j], now.pinned[i]);
        if (both.moments.empty()) continue;
        pinned.push_back(std::move(both));
        add(fixed + j, fixed + i);
      }
    }
  }

 private:
  static PinnedName common_part(const PinnedName& base, const PinnedName& now) {
    PinnedName both{now.label, {}};
    if (base.label != now.label) return both;
    for (const std::string& moment : now.moments) {
      if (std::ranges::count(base.moments, moment) != 0) both.moments.push_back(moment);
    }
    return both;
  }
  void add(size_t base, size_t now) {
    of[0].push_back(base);
    of[1].push_back(now);
  }
};

class Union {
 public:
  explicit Union(SharedValues shared) : shared_(std::move(shared)) { add_node(0); }

  // The line of a function is from the first tree taken. `side`: 0 or 1.
  void take(const StackTree& tree, size_t side) {
    const std::vector<size_t>& taken = shared_.of[side];
    std::vector<uint32_t> numbers;  // of its nodes, here
    for (const StackTree::Node& node : tree.nodes) {
      const bool is_root = numbers.empty();
      const uint32_t number =
          is_root ? 0 : child_of(numbers[node.parent], frame_of(tree, node.frame));
      // A tree written by another tool may have a function twice below one caller.
      StackValues& values = nodes_[number].values[side];
      for (size_t v = 0; v < taken.size(); ++v) values[v] += node.values[taken[v]];
      numbers.push_back(number);
    }
  }

  // The tree of one side, in preorder.
  StackTree tree(size_t side) const {
    struct Next {
      uint32_t node;
      uint32_t parent;
    };
    StackTree out;
    out.frames = frames_;
    out.pinned = shared_.pinned;
    std::vector<Next> next{{0, 0}};
    while (!next.empty()) {
      const auto [index, parent] = next.back();
      next.pop_back();
      const auto number = static_cast<uint32_t>(out.nodes.size());
      out.nodes.push_back({nodes_[index].frame, parent, nodes_[index].values[side]});
      for (const uint32_t child : nodes_[index].children) next.push_back({child, number});
    }
    return out;
  }

 private:
  struct Node {
    uint32_t frame = 0;
    StackValues values[2] = {};
    std::vector<uint32_t> children = {};
  };

  void add_node(uint32_t frame) {
    const StackValues zeros(shared_.of[0].size());
    nodes_.push_back({.frame = frame, .values = {zeros, zeros}});
  }
  uint32_t frame_of(const StackTree& tree, uint32_t frame) {
    if (frame == StackTree::kMergedFrame) return frame;
    const StackTree::Frame& names = tree.frames[frame];
    const auto [it, is_new] = functions_.try_emplace({names.name, names.module, names.file},
                                                     static_cast<uint32_t>(frames_.size()));
    if (is_new) frames_.push_back(names);
    return it->second;
  }
  uint32_t child_of(uint32_t parent, uint32_t frame) {
    const auto number = static_cast<uint32_t>(nodes_.size());
    const auto [it, is_new] = numbers_.try_emplace({parent, frame}, number);
    if (is_new) {
      add_node(frame);
      nodes_[parent].children.push_back(number);
    }
    return it->second;
  }

  const SharedValues shared_;
  std::vector<StackTree::Frame> frames_;
  std::vector<Node> nodes_;
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> functions_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;  // by parent and frame
};

}  // namespace

TreeUnion unite(const StackTree& base, const StackTree& now) {
  Union both(SharedValues(base, now));
  both.take(now, 1);
  both.take(base, 0);
  return {both.tree(0), both.tree(1)};
}

}  // namespace heaptape::replayer
