#include "replayer/report/html/tree_union.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

using schema::StackTree;
using schema::StackValues;

constexpr uint32_t kMerged = StackTree::kMergedFrame;

// all > main > `inner`, with these bytes at the peak; and `merged` bytes below main.
StackTree tree(const std::string& inner, uint64_t bytes, uint64_t merged, uint32_t line = 1) {
  StackTree made;
  made.frames = {{"main", "app", "a.cc", 0}, {inner, "app", "a.cc", line}};
  const auto values = [](uint64_t peak) { return StackValues{peak, 0, 0, 0, 0, 0}; };
  made.nodes = {{0, 0, values(bytes + merged)},
                {0, 0, values(bytes + merged)},
                {1, 1, values(bytes)},
                {kMerged, 1, values(merged)}};
  return made;
}

// By its name; (merged) is "".
uint64_t bytes_of(const StackTree& tree, const std::string& name) {
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const uint32_t frame = tree.nodes[i].frame;
    if ((frame == kMerged ? "" : tree.frames[frame].name) == name) return tree.nodes[i].values[0];
  }
  return UINT64_MAX;
}

TEST(TreeUnion, HasWhatIsGoneAndWhatIsNew) {
  const TreeUnion both = unite(tree("old", 5, 2), tree("new", 7, 1));
  EXPECT_EQ(both.base.nodes.size(), 5u);
  EXPECT_EQ(both.now.nodes.size(), 5u);
  EXPECT_EQ(bytes_of(both.base, "old"), 5u);
  EXPECT_EQ(bytes_of(both.now, "old"), 0u);
  EXPECT_EQ(bytes_of(both.base, "new"), 0u);
  EXPECT_EQ(bytes_of(both.now, "new"), 7u);
  EXPECT_EQ(bytes_of(both.base, "main"), 7u);
  EXPECT_EQ(bytes_of(both.now, "main"), 8u);
}

TEST(TreeUnion, ComparesFunctionsWhoseLinesMoved) {
  const TreeUnion both = unite(tree("f", 5, 0, 10), tree("f", 6, 0, 99));
  EXPECT_EQ(bytes_of(both.base, "f"), 5u);
  EXPECT_EQ(bytes_of(both.now, "f"), 6u);
}

TEST(TreeUnion, ComparesWhatIsMerged) {
  const TreeUnion both = unite(tree("f", 5, 2), tree("f", 5, 9));
  EXPECT_EQ(bytes_of(both.base, ""), 2u);
  EXPECT_EQ(bytes_of(both.now, ""), 9u);
}

TEST(TreeUnion, HasTheSameNodesOnBothSides) {
  const TreeUnion both = unite(tree("old", 5, 2), tree("new", 7, 1));
  for (size_t i = 0; i < both.now.nodes.size(); ++i) {
    EXPECT_EQ(both.base.nodes[i].frame, both.now.nodes[i].frame);
    EXPECT_EQ(both.base.nodes[i].parent, both.now.nodes[i].parent);
  }
}

StackTree with_pins(StackTree made, const std::vector<schema::PinnedName>& names, uint64_t first) {
  made.pinned = names;
  for (StackTree::Node& node : made.nodes) {
    for (size_t i = 0; i < names.size(); ++i) node.values.push_back(first + i);
  }
  return made;
}

TEST(TreeUnion, HasThePinsOfBothByLabelAndMoment) {
  const StackTree base =
      with_pins(tree("f", 5, 2),
                {{"glibc", {"plateau", "exit"}}, {"mine", {"peak"}}, {"gone", {"peak"}}}, 10);
  const StackTree now = with_pins(
      tree("f", 5, 2), {{"new", {"peak"}}, {"mine", {"peak", "exit"}}, {"glibc", {"exit"}}}, 20);
  const TreeUnion both = unite(base, now);
  const std::vector<schema::PinnedName> names = {{"mine", {"peak"}}, {"glibc", {"exit"}}};
  EXPECT_EQ(both.base.pinned, names);
  EXPECT_EQ(both.now.pinned, names);
  EXPECT_EQ(both.base.nodes[0].values, (StackValues{7, 0, 0, 0, 0, 0, 11, 10}));
  EXPECT_EQ(both.now.nodes[0].values, (StackValues{7, 0, 0, 0, 0, 0, 21, 22}));
}

}  // namespace
}  // namespace heaptape::replayer
