#include "replayer/export/frame_tree.h"

#include <gtest/gtest.h>

#include "tests/support/exports.h"

namespace heaptape::replayer {
namespace {

constexpr TreeLimits kWhole = {.least_share = 0, .most_bytes = SIZE_MAX};

uint64_t peak(const FrameTree::Node& node) {
  return node.values[static_cast<size_t>(StackValue::kPeak)];
}

// "all 407\n main 407\n  parse(int) 400\n": a line for each node, behind its depth.
std::string text_of(const FrameTree& tree) {
  std::vector<size_t> depths;
  std::string text;
  for (const FrameTree::Node& node : tree.nodes) {
    const bool is_root = depths.empty();
    depths.push_back(is_root ? 0 : depths[node.parent] + 1);
    const bool is_merged = !is_root && node.frame == FrameTree::kMergedFrame;
    text += std::string(depths.back(), ' ') +
            (is_root     ? "all"
             : is_merged ? "(merged)"
                         : tree.frames[node.frame].name) +
            " " + std::to_string(peak(node)) + "\n";
  }
  return text;
}

StackValues peak_values(uint64_t bytes) {
  return {bytes, 0, 0, 0, 0, 0};
}

// A root with children of these bytes at the peak, and one grandchild in each of one byte less.
FrameTree wide_tree(const std::vector<uint64_t>& children) {
  FrameTree tree;
  tree.nodes.push_back({0, 0, peak_values(0)});
  for (const uint64_t bytes : children) {
    const auto number = static_cast<uint32_t>(tree.frames.size());
    tree.frames.push_back({"f" + std::to_string(number), "m", "", 0});
    tree.frames.push_back({"g" + std::to_string(number), "m", "", 0});
    const auto child = static_cast<uint32_t>(tree.nodes.size());
    tree.nodes.push_back({number, 0, peak_values(bytes)});
    tree.nodes.push_back({number + 1, child, peak_values(bytes - 1)});
    tree.nodes[0].values[0] += bytes;
  }
  return tree;
}

// No node has less than its children together.
void expect_sums(const FrameTree& tree) {
  std::vector<StackValues> sums(tree.nodes.size(), StackValues(tree.value_count()));
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    ASSERT_LT(tree.nodes[i].parent, i);
    for (size_t v = 0; v < tree.value_count(); ++v) {
      sums[tree.nodes[i].parent][v] += tree.nodes[i].values[v];
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    for (size_t v = 0; v < tree.value_count(); ++v)
      EXPECT_LE(sums[i][v], tree.nodes[i].values[v]) << i;
  }
}

TEST(FrameTree, HasFunctionsBelowTheirCallers) {
  const tests::SampleStacks sample;
  EXPECT_EQ(text_of(frame_tree(sample.shown(), {}, kWhole)),
            "all 407\n main 407\n  parse(int) 400\n   lex 400\n  read 7\n (no stack) 0\n");
}

TEST(FrameTree, HasTheTotalsOfTheStacks) {
  const tests::SampleStacks sample;
  StackTotals totals;
  for (const ShownStack& stack : sample.shown().list()) totals += stack.totals;
  const FrameTree tree = frame_tree(sample.shown(), {}, kWhole);
  for (size_t i = 0; i < schema::kStackValueNames.size(); ++i) {
    EXPECT_EQ(tree.nodes[0].values[i], value_of(totals, static_cast<StackValue>(i)));
  }
  expect_sums(tree);
}

TEST(FrameTree, HasWhatTheStacksPin) {
  const tests::SampleStacks sample;
  const PinnedStacks at_peak{"glibc", {"peak"}, {{2, 50}, {4, 7}}};
  const PinnedStacks at_end{"glibc", {"exit", "end"}, {{3, 1}}};
  const FrameTree tree = frame_tree(sample.shown(), {at_peak, at_end}, kWhole);
  const std::vector<schema::PinnedName> names = {{"glibc", {"peak"}}, {"glibc", {"exit", "end"}}};
  EXPECT_EQ(tree.pinned, names);
  const schema::StackColumns columns(tree);
  EXPECT_EQ(columns.values[6], (std::vector<uint64_t>{57, 57, 50, 50, 7, 0}));
  EXPECT_EQ(columns.values[7], (std::vector<uint64_t>{1, 1, 1, 1, 0, 0}));
  expect_sums(tree);
}

TEST(FrameTree, LeavesOutWhatIsNotShown) {
  const tests::SampleStacks sample({.only = {"site~read"}});
  EXPECT_EQ(frame_tree(sample.shown(), {}, kWhole).nodes[0].values[0], 7u);
}

TEST(FrameTree, KnowsWhereAFunctionIs) {
  const tests::SampleStacks sample;
  const FrameTree tree = frame_tree(sample.shown(), {}, kWhole);
  const FrameTree::Frame& lex = tree.frames[tree.nodes[3].frame];
  EXPECT_EQ(lex.name + " " + lex.module + " " + lex.file, "lex app lex.h");
  EXPECT_EQ(lex.line, 3u);
}

TEST(FrameTree, HasNamesOfThreeHundredBytesAsTheyAre) {
  const std::string name(300, 'x');
  const Symbols symbols({{}, {"/opt/app", 1, {{name, "", 0}}}}, {0, 1, 1, 1, 1});
  const tests::SampleStacks sample({}, symbols);
  EXPECT_EQ(frame_tree(sample.shown(), {}, kWhole).frames[0].name, name);
}

TEST(FrameTree, CutsLongNames) {
  const std::string name(5000, 'x');
  const Symbols symbols({{}, {"/opt/app", 1, {{name + "\xc3\xa4", "", 0}}}}, {0, 1, 1, 1, 1});
  const tests::SampleStacks sample({}, symbols);
  const FrameTree tree = frame_tree(sample.shown(), {}, kWhole);
  EXPECT_EQ(tree.frames[0].name.size(), 303u);
}

// Names end at 300 bytes.
TEST(FrameTree, CutsNoLetterInTwo) {
  for (const std::string letter : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    for (size_t inside = 1; inside < letter.size(); ++inside) {
      const std::string name(300 - inside, 'x');
      const Symbols symbols({{}, {"/opt/app", 1, {{name + letter, "", 0}}}}, {0, 1, 1, 1, 1});
      const tests::SampleStacks sample({}, symbols);
      EXPECT_EQ(frame_tree(sample.shown(), {}, kWhole).frames[0].name, name + "...");
    }
  }
}

TEST(FrameTree, HasTheLineOfAFunctionOnlyIfItIsOne) {
  const Symbols symbols(
      {{}, {"/opt/app", 1, {{"f", "a.cc", 5}}}, {"/opt/app", 2, {{"f", "a.cc", 6}}}},
      {0, 1, 1, 1, 1});
  EXPECT_EQ(frame_tree(tests::SampleStacks({}, symbols).shown(), {}, kWhole).frames[0].line, 5u);
  const Symbols two(symbols.places(), {0, 1, 2, 1, 1});
  EXPECT_EQ(frame_tree(tests::SampleStacks({}, two).shown(), {}, kWhole).frames[0].line, 0u);
}

TEST(FrameTree, MergesWhatIsSmall) {
  const FrameTree tree = pruned(wide_tree({900, 60, 30, 10}), {.least_share = 0.05});
  EXPECT_EQ(text_of(tree), "all 1000\n (merged) 40\n f0 900\n  g0 899\n f2 60\n  g2 59\n");
  EXPECT_EQ(tree.merged_nodes, 4u);
  expect_sums(tree);
}

TEST(FrameTree, KeepsWhatIsLargeByAnyValue) {
  FrameTree tree = wide_tree({999, 1});
  tree.nodes[3].values[3] = tree.nodes[0].values[3] = 5;  // calls
  EXPECT_EQ(text_of(pruned(tree, {.least_share = 0.5})), "all 1000\n f0 999\n  g0 998\n f2 1\n");
}

// With `bytes` pinned by the i-th child in the i-th run, and by its grandchild.
FrameTree with_pins(FrameTree tree, size_t runs, uint64_t bytes) {
  for (size_t run = 0; run < runs; ++run) {
    tree.pinned.push_back({std::to_string(run), {"end"}});
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      const bool pins = i == 0 || (i - 1) / 2 == run;
      tree.nodes[i].values.push_back(pins ? bytes : 0);
    }
  }
  return tree;
}

TEST(FrameTree, KeepsWhatPinsMuch) {
  const FrameTree tree = pruned(with_pins(wide_tree({900, 10, 90}), 2, 1), {.least_share = 0.5});
  EXPECT_EQ(text_of(tree), "all 1000\n (merged) 90\n f0 900\n  g0 899\n f2 10\n  g2 9\n");
  EXPECT_EQ(tree.pinned.size(), 2u);
  expect_sums(tree);
}

TEST(FrameTree, IsNoLargerForWhatIsPinned) {
  std::vector<uint64_t> children;
  for (uint64_t i = 0; i < 1'000; ++i) children.push_back(2 + i);
  const FrameTree whole = with_pins(wide_tree(children), 30, 1'000'000'000);
  const FrameTree tree = pruned(whole, {.least_share = 0, .most_bytes = 20'000});
  size_t digits = 0;
  for (const FrameTree::Node& node : tree.nodes) {
    for (const uint64_t value : node.values) digits += std::to_string(value).size() + 2;
  }
  EXPECT_LT(digits, 20'000u);
  EXPECT_GT(tree.nodes.size(), 50u);
  expect_sums(tree);
}

TEST(FrameTree, KeepsItsSumsWhenMergedTwice) {
  const FrameTree once = pruned(wide_tree({900, 60, 30, 10}), {.least_share = 0.02});
  const FrameTree twice = pruned(once, {.least_share = 0.05});
  EXPECT_EQ(text_of(twice), "all 1000\n (merged) 40\n f0 900\n  g0 899\n f2 60\n  g2 59\n");
}

TEST(FrameTree, IsNoLargerThanAsked) {
  std::vector<uint64_t> children;
  for (uint64_t i = 0; i < 10'000; ++i) children.push_back(2 + i);
  const FrameTree tree = pruned(wide_tree(children), {.least_share = 0, .most_bytes = 20'000});
  EXPECT_LT(tree.nodes.size(), 700u);
  EXPECT_GT(tree.nodes.size(), 100u);
  EXPECT_GT(tree.least_share, 0);
  expect_sums(tree);
}

TEST(FrameTree, OfNoStacksIsARoot) {
  EXPECT_EQ(text_of(pruned(wide_tree({}), {})), "all 0\n");
}

}  // namespace
}  // namespace heaptape::replayer
