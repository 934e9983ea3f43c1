// The story of sliver-pin on glibc 2.36, real and modeled. docs/scenarios/sliver-pin.md.
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/scenario_tapes.h"

namespace heaptape {
namespace {

using tests::Placed;

// Numbers of events, with no hole to begin with.
constexpr size_t kFirst = 0;
constexpr size_t kMapped = 1;
constexpr size_t kUnmapped = 2;
constexpr size_t kBuffer = 3;
constexpr size_t kPin = 4;
constexpr size_t kBufferFreed = 5;
constexpr size_t kNext = 6;

class SliverPin : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string reason = tests::not_glibc_2_36(GetParam());
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
  Placed place(const std::vector<std::string>& sets = {}) {
    return tests::place_scenario("sliver-pin", sets, GetParam());
  }
  // By how much the last call makes the heap grow.
  uint64_t growth(const std::vector<std::string>& sets) {
    const Placed placed = place(sets);
    return placed.committed.back() - *(placed.committed.end() - 2);
  }
};

TEST_P(SliverPin, BeginsWithABlockInAMappingOfItsOwn) {
  const Placed placed = place();
  EXPECT_EQ(placed.committed.at(kFirst), 135'168u);
  EXPECT_EQ(placed.committed.at(kMapped), 135'168u + 8'884'224);
  EXPECT_EQ(placed.committed.at(kUnmapped), 135'168u);
}

TEST_P(SliverPin, HasTheNextBlockOfThatSizeInTheHeap) {
  const Placed placed = place();
  EXPECT_EQ(placed.offset(kBuffer), 704u);
  EXPECT_EQ(placed.committed.at(kBuffer), 9'015'296u);
}

TEST_P(SliverPin, PutsThePinThirteenBytesBehindIt) {
  const Placed placed = place();
  EXPECT_EQ(placed.offset(kPin), 704u + 8'880'467 + 13);
}

TEST_P(SliverPin, GrowsTheHeapForABlockALittleLarger) {
  const Placed placed = place();
  EXPECT_EQ(placed.committed.at(kBufferFreed), 9'015'296u);
  EXPECT_EQ(placed.offset(kNext), 8'881'424u);
  EXPECT_EQ(placed.committed.at(kNext), 17'895'424u);
}

TEST_P(SliverPin, CostsNothingWhereTheNextBlockFits) {
  const Placed placed = place({"next=8880467"});
  EXPECT_EQ(placed.offset(kNext), 704u);
  EXPECT_EQ(placed.committed.at(kNext), 9'015'296u);
  EXPECT_EQ(growth({"next=2000000"}), 0u);
}

// The buffer is cut from a hole that is 352 bytes longer.
TEST_P(SliverPin, TakesTheSliverOfAHole) {
  const Placed placed = place({"hole=8880819"});
  const size_t pin = 7;
  EXPECT_EQ(placed.addresses.at(pin), placed.addresses.at(pin - 1) + 8'880'467 + 13);
  EXPECT_EQ(growth({"hole=8880819"}), 8'880'128u);
  EXPECT_EQ(growth({"hole=8880819", "pin=240"}), 8'880'128u);
}

TEST_P(SliverPin, LeavesTheSliverWhereItIsTooLarge) {
  EXPECT_EQ(growth({"hole=8880819", "pin=2000000"}), 0u);
}

INSTANTIATE_TEST_SUITE_P(Glibc, SliverPin, testing::Values("glibc", "model:ptmalloc"),
                         [](const auto& instance) {
                           return std::string(instance.index == 0 ? "real" : "model");
                         });

TEST(SliverPinOnRuns, HoldsTheNextStringInTheSameChunks) {
  const Placed placed = tests::place_scenario("sliver-pin", {}, "model:runs");
  EXPECT_EQ(placed.addresses.at(kNext), placed.addresses.at(kBuffer));
  EXPECT_EQ(placed.committed.at(kNext), placed.committed.at(kBuffer));
}

TEST(SliverPinOnRuns, GrowsTheStringInPlace) {
  const Placed placed =
      tests::place_scenario("resize", {"from=8880467", "to=8880819", "step=352"}, "model:runs");
  EXPECT_EQ(placed.addresses.at(1), placed.addresses.at(0));
}

TEST(SliverPinOnRuns, MovesAStringThatNeedsAnotherChunk) {
  const auto runs = tests::replay_scenario_on_each(
      "resize", {"from=8000835", "to=8880819", "step=879984"}, {"model:runs"});
  EXPECT_EQ(runs.at(0).resizes.moved, 1u);
}

}  // namespace
}  // namespace heaptape
