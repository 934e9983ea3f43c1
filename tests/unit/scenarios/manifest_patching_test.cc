// The calls of manifest-patching, by the sizes that CPython 2.7 asks for.
// docs/scenarios/manifest-patching.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/scenario_tapes.h"

namespace heaptape::scenarios {
namespace {

using schema::Event;
using schema::Op;
using Call = std::pair<Op, uint64_t>;

std::vector<Event> patched(std::vector<std::string> sets) {
  sets.insert(sets.begin(), {"manifests=20", "length=100000"});
  return tests::scenario_events("manifest-patching", sets);
}

size_t count(const std::vector<Event>& events, Op op, uint64_t size) {
  return static_cast<size_t>(std::ranges::count_if(
      events, [&](const Event& event) { return event.op == op && event.size == size; }));
}
size_t count(const std::vector<Event>& events, Op op) {
  return static_cast<size_t>(std::ranges::count(events, op, &Event::op));
}

// Each diff has a header of 12 bytes: malloc(49).
size_t diffs_of(const std::vector<Event>& events) {
  return count(events, Op::kMalloc, 49);
}

// One manifest of one diff, which replaces as much as it brings.
class OneDiff : public testing::Test {
 protected:
  OneDiff() {
    const auto events = tests::scenario_events(
        "manifest-patching",
        {"manifests=1", "length=10000", "growth=0", "max_diffs=1", "raw_mean=100"});
    for (const Event& event : events) calls_.emplace_back(event.op, event.size);
  }
  uint64_t size(size_t call) const { return calls_.at(call).second; }

  std::vector<Call> calls_;
};

TEST_F(OneDiff, IsReadWithoutACopyOfThePatch) {
  EXPECT_EQ(calls_.at(0), Call(Op::kMalloc, 10'037));
  const uint64_t text = size(1) - 37 - 12;  // of the patch: its header and its text
  EXPECT_EQ(calls_.at(2), Call(Op::kMalloc, 49));
  EXPECT_EQ(calls_.at(3), Call(Op::kMalloc, 80));
  EXPECT_EQ(calls_.at(4), Call(Op::kMalloc, 37 + text));
  EXPECT_EQ(calls_.at(5), Call(Op::kFree, 0));
}

TEST_F(OneDiff, MakesTheFirstSliceTheNewString) {
  const uint64_t text = size(4) - 37;
  EXPECT_EQ(calls_.at(6).first, Op::kMalloc);
  EXPECT_EQ(calls_.at(7), Call(Op::kRealloc, size(6) + text));
}

TEST_F(OneDiff, EndsWithAReallocToTheFinalSize) {
  const auto last = std::ranges::find(calls_.rbegin(), calls_.rend(), Op::kRealloc, &Call::first);
  EXPECT_EQ(last->second, 10'037u);
  const uint64_t tail = (last + 1)->second;  // its slice: 37 bytes and what was missing
  EXPECT_EQ(size(7) + tail - 37, 10'037u);
  EXPECT_EQ((last - 1)->first, Op::kFree);
}

TEST_F(OneDiff, KeepsItsPinsAndGivesUpTheOldManifestAndThePatch) {
  const std::vector<Call> end(calls_.end() - 6, calls_.end());
  EXPECT_EQ(end, (std::vector<Call>{{Op::kMalloc, 232},
                                    {Op::kMalloc, 77},
                                    {Op::kMalloc, 232},
                                    {Op::kMalloc, 77},
                                    {Op::kFree, 0},
                                    {Op::kFree, 0}}));
}

TEST(ManifestPatching, ReallocsTwiceForEachDiff) {
  const auto events = patched({"variant=str"});
  EXPECT_GT(diffs_of(events), 20u);
  EXPECT_EQ(count(events, Op::kRealloc), 2 * diffs_of(events));
}

TEST(ManifestPatching, ReallocsLessInAByteArray) {
  const auto events = patched({"variant=bytearray"});
  EXPECT_GT(count(events, Op::kRealloc), 0u);
  EXPECT_LT(count(events, Op::kRealloc), 2 * diffs_of(events));
}

TEST(ManifestPatching, NeverReallocsToJoin) {
  EXPECT_EQ(count(patched({"variant=join"}), Op::kRealloc), 0u);
}

TEST(ManifestPatching, AsksForEachManifestOnceWhereItIsPreallocated) {
  const auto events = patched({"variant=prealloc", "growth=0"});
  EXPECT_EQ(count(events, Op::kRealloc), 0u);
  EXPECT_EQ(count(events, Op::kMalloc, 100'037), 21u);
}

TEST(ManifestPatching, ReadsTheSameDiffsWhateverTheVariant) {
  const size_t diffs = diffs_of(patched({}));
  for (const char* variant : {"variant=bytearray", "variant=join", "variant=prealloc"}) {
    EXPECT_EQ(diffs_of(patched({variant})), diffs) << variant;
  }
}

TEST(ManifestPatching, LeavesFourPinsOfEachManifestAndTheLastOne) {
  const auto survivors = tests::survivors_of(patched({"growth=0"}));
  const std::map<uint64_t, size_t> expected = {{232, 40}, {77, 40}, {100'037, 1}};
  EXPECT_EQ(survivors, expected);
}

TEST(ManifestPatching, LeavesTheLastManifestAloneWithoutPins) {
  const std::map<uint64_t, size_t> expected = {{100'037, 1}};
  EXPECT_EQ(tests::survivors_of(patched({"growth=0", "pins=off"})), expected);
}

TEST(ManifestPatching, GrowsByItsGrowth) {
  const auto survivors = tests::survivors_of(patched({"manifests=400", "growth=100", "pins=off"}));
  ASSERT_EQ(survivors.size(), 1u);
  const uint64_t grown = survivors.begin()->first - 100'037;
  EXPECT_GT(grown, 36'000u);
  EXPECT_LT(grown, 44'000u);
}

}  // namespace
}  // namespace heaptape::scenarios
