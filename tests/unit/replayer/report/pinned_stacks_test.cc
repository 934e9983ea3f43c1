#include "replayer/report/pinned_stacks.h"

#include <gtest/gtest.h>

#include <numeric>

#include "replayer/engine/tape_moments.h"
#include "replayer/sites/sample_weight.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using Bytes = std::map<schema::FrameNumber, uint64_t>;

// Of write_pinned_tape(): who pins is certain.
class PinnedByStack : public testing::Test {
 protected:
  explicit PinnedByStack(const schema::StackRecording& recording = {}) {
    tests::write_pinned_tape(dir_.file("a.tape"), recording);
  }
  std::vector<PinnedStacks> of(const std::vector<std::string>& specs,
                               ReplayOptions options = ReplayOptions()) {
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    for (const std::string& spec : specs) {
      options.specs.push_back(*allocators::parse_spec(spec));
    }
    options.keep_pinning_blocks = true;
    if (options.moments.empty()) options.moments = *find_moments(*tape, UINT64_MAX, {});
    auto runs = replay(*tape, options, {});
    EXPECT_TRUE(runs.ok()) << runs.error().message;
    if (!runs.ok()) return {};
    runs_ = std::move(*runs);
    return *pinned_stacks(*tape, runs_);
  }
  uint64_t hole_bytes(size_t run, const std::string& moment) const {
    for (const MomentState& state : runs_[run].metrics.moments) {
      if (state.moment.name == moment) return state.snapshot.resident_hole_bytes;
    }
    return UINT64_MAX;
  }

  tests::TempDir dir_;
  std::vector<RunResult> runs_;
};

uint64_t sum(const Bytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0},
                         [](uint64_t total, const auto& of) { return total + of.second; });
}

TEST_F(PinnedByStack, AreOfTheBlocksBesideTheHoles) {
  for (const std::string spec : {"model:ptmalloc", "recorded"}) {
    const auto pinned = of({spec});
    ASSERT_EQ(pinned.size(), 2u) << spec;
    EXPECT_EQ(pinned[0].label, spec);
    EXPECT_EQ(pinned[0].moments.front(), "peak");
    EXPECT_EQ(pinned[0].bytes, (Bytes{{1, 5'008}, {4, 5'008}})) << spec;
    EXPECT_EQ(pinned[1].moments.back(), "end");
    EXPECT_EQ(pinned[1].bytes, (Bytes{{1, 5'008}, {4, 5'008 + 20'016}})) << spec;
  }
}

TEST_F(PinnedByStack, AddUpToTheHolesOfTheRun) {
  const auto pinned = of({"model:ptmalloc", "recorded", "model:slabs", "model:first-fit"});
  ASSERT_EQ(pinned.size(), 8u);
  for (size_t i = 0; i < pinned.size(); ++i) {
    for (const std::string& moment : pinned[i].moments) {
      EXPECT_EQ(sum(pinned[i].bytes), hole_bytes(i / 2, moment)) << pinned[i].label << moment;
    }
  }
}

TEST_F(PinnedByStack, AreTheSameSideBySide) {
  const std::vector<std::string> specs = {"model:ptmalloc", "recorded"};
  const auto one = of(specs);
  ReplayOptions options;
  options.jobs = 2;
  const auto other = of(specs, options);
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].bytes, other[i].bytes);
}

TEST_F(PinnedByStack, AreOfRunsWhosePlacementsSaySomething) {
  EXPECT_TRUE(of({"noop", "model:ideal"}).empty());
}

TEST_F(PinnedByStack, AreOfNoHolesThatMayHaveBeenGivenBack) {
  of({"recorded"});
  auto tape = schema::TapeReader::open(dir_.file("a.tape"));
  runs_[0].metrics.known_resident = KnownResident::kHoles;
  EXPECT_EQ(pinned_stacks(*tape, runs_)->size(), 2u);
  runs_[0].metrics.known_resident = KnownResident::kSum;
  EXPECT_TRUE(pinned_stacks(*tape, runs_)->empty());
}

TEST_F(PinnedByStack, AreNotOfMarks) {
  ReplayOptions options;
  options.moments = {{"mark:a", 5}, {"mark:b", 7}, {"end", 7}};
  const auto pinned = of({"recorded"}, options);
  ASSERT_EQ(pinned.size(), 1u);
  EXPECT_EQ(pinned[0].moments, std::vector<std::string>{"end"});
}

TEST_F(PinnedByStack, AreNotKeptUnlessAskedFor) {
  auto tape = schema::TapeReader::open(dir_.file("a.tape"));
  const auto runs =
      replay(*tape, {.specs = {*allocators::parse_spec("recorded")}, .moments = {{"end", 7}}}, {});
  EXPECT_TRUE(runs->front().pins.empty());
}

class PinnedBySampledStack : public PinnedByStack {
 protected:
  static constexpr uint64_t kEvery = 64;
  PinnedBySampledStack() : PinnedByStack({schema::StackMode::kUnwindTables, 64, kEvery}) {}
};

TEST_F(PinnedBySampledStack, CountForTheCallsThatTheyStandFor) {
  const auto pinned = of({"recorded"});
  ASSERT_EQ(pinned.size(), 2u);
  const SampleWeight weight(kEvery);
  const auto estimate = [](double bytes) { return static_cast<uint64_t>(std::llround(bytes)); };
  EXPECT_EQ(pinned[0].bytes,
            (Bytes{{1, estimate(5'008 * weight.of(24))}, {4, estimate(5'008 * weight.of(24))}}));
  EXPECT_EQ(pinned[1].bytes.at(4), estimate((5'008 + 10'008) * weight.of(24) + 10'008.0));
}

}  // namespace
}  // namespace heaptape::replayer
