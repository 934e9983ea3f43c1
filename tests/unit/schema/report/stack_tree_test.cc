#include "schema/report/stack_tree.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/output_file.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_file.h"
#include "schema/report/report_json.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

constexpr uint32_t kMerged = StackTree::kMergedFrame;

StackTree sample_tree() {
  StackTree tree;
  tree.frames = {{"main", "app", "a.cc", 0}, {"lex", "libx.so", "", 3}};
  tree.nodes = {{0, 0, {9, 8, 7, 6, 5, 4}},
                {0, 0, {9, 8, 7, 6, 5, 4}},
                {1, 1, {4, 3, 2, 1, 0, 2}},
                {kMerged, 1, {1, 1, 1, 1, 1, 1}}};
  tree.least_share = 0.25;
  tree.merged_nodes = 12;
  return tree;
}

StackTree pinned_tree() {
  StackTree tree = sample_tree();
  tree.pinned = {{"glibc", {"peak"}}, {"glibc", {"exit", "end"}}};
  const uint64_t pinned[][2] = {{70, 9}, {70, 8}, {60, 2}, {10, 6}};
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    for (const uint64_t bytes : pinned[i]) tree.nodes[i].values.push_back(bytes);
  }
  return tree;
}

// The JSON of a report with this tree; `from` in it becomes `to`.
std::string report_json(const StackTree& tree, const std::string& from = "",
                        const std::string& to = "") {
  capnp::MallocMessageBuilder message;
  auto report = message.initRoot<wire::Report>();
  report.setVersion(wire::REPORT_VERSION);
  set_stack_tree(report.initTape().initStacks(), tree);
  std::string json = *to_json(report.asReader());
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << json;
  return json.replace(at, from.size(), to);
}

base::Result<std::optional<StackTree>> read(const std::string& json) {
  const tests::TempDir dir;
  EXPECT_TRUE(base::write_file(dir.file("r.json"), json).ok());
  return ReportFile::read(dir.file("r.json"))->stack_tree();
}

TEST(StackTree, ComesBackFromAReport) {
  const auto tree = read(report_json(sample_tree()));
  ASSERT_TRUE(tree.ok() && tree->has_value());
  const StackColumns columns(**tree);
  const StackColumns expected(sample_tree());
  EXPECT_EQ((*tree)->least_share, 0.25);
  EXPECT_EQ((*tree)->merged_nodes, 12u);
  EXPECT_EQ(columns.names, expected.names);
  EXPECT_EQ(columns.modules, expected.modules);
  EXPECT_EQ(columns.files, expected.files);
  EXPECT_EQ(columns.lines, expected.lines);
  EXPECT_EQ(columns.frames, expected.frames);
  EXPECT_EQ(columns.depths, expected.depths);
  EXPECT_EQ(columns.values, expected.values);
}

TEST(StackTree, ComesBackWithWhatIsPinned) {
  const auto tree = read(report_json(pinned_tree()));
  ASSERT_TRUE(tree.ok() && tree->has_value());
  EXPECT_EQ((*tree)->pinned, pinned_tree().pinned);
  EXPECT_EQ(StackColumns(**tree).values, StackColumns(pinned_tree()).values);
}

// As heaptape wrote it before.
TEST(StackTree, NeedNotHaveWhatIsPinned) {
  const std::string json = report_json(sample_tree());
  EXPECT_EQ(json.find("pinned"), std::string::npos);
  EXPECT_TRUE((*read(json))->pinned.empty());
}

TEST(StackTree, NeedNotHaveWhatIsMapped) {
  const auto tree =
      read(report_json(sample_tree(), R"("mappedBytes": [4, 4, 2, 1])", R"("mappedBytes": [])"));
  ASSERT_TRUE(tree.ok() && tree->has_value());
  const StackColumns columns(**tree);
  EXPECT_EQ(columns.values[4], StackColumns(sample_tree()).values[4]);
  EXPECT_EQ(columns.values[5], std::vector<uint64_t>(4));
}

TEST(StackTree, NeedNotBeInAReport) {
  const auto tree = read(R"({"version": 1, "tape": {}, "runs": []})");
  ASSERT_TRUE(tree.ok());
  EXPECT_FALSE(tree->has_value());
}

TEST(StackTree, OfAnotherShapeIsRefused) {
  const std::pair<const char*, const char*> changes[] = {
      {R"("depths": [0, 1, 2, 2])", R"("depths": [0, 1, 3, 2])"},
      {R"("depths": [0, 1, 2, 2])", R"("depths": [0, 1, 0, 2])"},
      {R"("depths": [0, 1, 2, 2])", R"("depths": [1, 1, 2, 2])"},
      {R"("depths": [0, 1, 2, 2])", R"("depths": [0, 1, 2])"},
      {R"("frames": [0, 1, 2, 0])", R"("frames": [])"},
      {R"("frames": [0, 1, 2, 0])", R"("frames": [0, 1, 3, 0])"},
      {R"("moduleOf": [0, 1])", R"("moduleOf": [0, 2])"},
      {R"("fileOf": [0, 1])", R"("fileOf": [0])"},
      {R"("peakBytes": [9, 9, 4, 1])", R"("peakBytes": [9, 9, 4, 6])"},
      {R"("calls": [6, 6, 1, 1])", R"("calls": [6, 6, 1])"},
      {R"("mappedBytes": [4, 4, 2, 1])", R"("mappedBytes": [4])"},
      {R"("leastShare": 0.25)", R"("leastShare": "NaN")"}};
  for (const auto& [from, to] : changes) {
    const auto tree = read(report_json(sample_tree(), from, to));
    ASSERT_FALSE(tree.ok()) << to;
    EXPECT_NE(tree.error().message.find("do not form a tree"), std::string::npos)
        << tree.error().message;
  }
}

TEST(StackTree, WhosePinsAreOfAnotherShapeIsRefused) {
  const std::pair<const char*, const char*> changes[] = {
      {R"("bytes": [70, 70, 60, 10])", R"("bytes": [70, 70, 60])"},
      {R"("bytes": [70, 70, 60, 10])", R"("bytes": [70, 70, 60, 11])"},
      {R"("bytes": [70, 70, 60, 10])", R"("bytes": [])"},
      {R"("moments": ["exit", "end"])", R"("moments": ["exit", "peak"])"},
      {R"("moments": ["exit", "end"])", R"("moments": ["end", "end"])"}};
  for (const auto& [from, to] : changes) {
    EXPECT_FALSE(read(report_json(pinned_tree(), from, to)).ok()) << to;
  }
}

TEST(StackTree, OfMoreRunsThanThereCanBeIsRefused) {
  StackTree tree;
  tree.nodes = {{0, 0, StackValues(schema::kStackValueNames.size())}};
  const auto add_run = [&tree] {
    tree.pinned.push_back({std::to_string(tree.pinned.size()), {"end"}});
    tree.nodes[0].values.push_back(0);
  };
  while (tree.pinned.size() < StackTree::kMostPinned) add_run();
  EXPECT_TRUE(read(report_json(tree)).ok());
  add_run();
  EXPECT_FALSE(read(report_json(tree)).ok());
}

// Two such reports would be compared moment by moment.
TEST(StackTree, OfMoreMomentsThanThereCanBeIsRefused) {
  StackTree tree = pinned_tree();
  std::vector<std::string>& moments = tree.pinned[0].moments;
  while (moments.size() + 2 < StackTree::kMostMoments) {
    moments.push_back(std::to_string(moments.size()));
  }
  EXPECT_TRUE(read(report_json(tree)).ok());
  moments.emplace_back("one more");
  EXPECT_FALSE(read(report_json(tree)).ok());
}

// 3,000 frames of one file's 30,000 bytes: a report of a few hundred kilobytes, or 90 MB of text.
TEST(StackTree, WhoseTextIsSharedBeyondAllBoundsIsRefused) {
  StackTree tree = sample_tree();
  const auto with_frames = [&tree](size_t count) {
    for (size_t i = tree.frames.size(); i < count; ++i)
      tree.frames.push_back({"f", "app", "a.cc", 0});
    return report_json(tree, R"("a.cc")", '"' + std::string(30'000, 'a') + '"');
  };
  const auto small = read(with_frames(2'000));
  EXPECT_TRUE(small.ok() && small->has_value());
  const std::string json = with_frames(3'000);
  EXPECT_LT(json.size(), 500'000u);
  const auto large = read(json);
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.error().message.find("do not form a tree"), std::string::npos);
}

TEST(StackTree, SaysWhichCallsItKnows) {
  EXPECT_FALSE((*read(report_json(sample_tree())))->sampling);
  const auto tree = read(report_json(sample_tree(), R"("stacks":)",
                                     R"("sites": {"sampling": {"everyBytes": "512", "calls": "7"}},
                                        "stacks":)"));
  ASSERT_TRUE(tree.ok() && tree->has_value() && (*tree)->sampling);
  EXPECT_EQ((*tree)->sampling->every_bytes, 512u);
  EXPECT_EQ((*tree)->sampling->calls, 7u);
}

}  // namespace
}  // namespace heaptape::schema
