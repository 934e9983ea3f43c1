// glibc's mmap threshold and how frees raise it, real and modeled.
// docs/scenarios/mmap-threshold.md.
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/scenario_tapes.h"

namespace heaptape {
namespace {

using tests::Placed;

constexpr uint64_t kFirstHeapBytes = 135'168;

class MmapThreshold : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string reason = tests::not_glibc_2_36(GetParam());
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
  Placed place(const std::vector<std::string>& sets) {
    return tests::place_scenario("mmap-threshold", sets, GetParam());
  }
  // Whether a block lies in the heap after one of its size has been freed.
  bool second_in_heap(uint64_t bytes) {
    const std::string size = std::to_string(bytes);
    const Placed placed = place({"from=" + size, "to=" + size, "survivors=0"});
    return placed.offset(2) < placed.committed.at(2);
  }
};

// 33,550,312 bytes and the header make a mapping of 33,550,336; one byte more, of 33,554,432.
TEST_P(MmapThreshold, IsRaisedByMappingsUpToThirtyTwoMebibytes) {
  EXPECT_TRUE(second_in_heap(33'550'312));
  EXPECT_FALSE(second_in_heap(33'550'313));
}

TEST_P(MmapThreshold, CountsMappingsInWholePages) {
  const Placed placed = place({"from=33550312", "to=33550312", "survivors=0"});
  EXPECT_EQ(placed.committed.at(0), kFirstHeapBytes + 33'550'336);
  const Placed larger = place({"from=33550313", "to=33550313", "survivors=0"});
  EXPECT_EQ(larger.committed.at(0), kFirstHeapBytes + 33'554'432);
}

TEST_P(MmapThreshold, LeavesPinnedHolesOnceRaised) {
  const Placed placed = place({});
  uint64_t sum = 0;
  for (uint64_t size = 200'000; size <= 5'000'000; size += 200'000) sum += size;
  EXPECT_GT(placed.committed.back(), sum);
  EXPECT_LT(placed.committed.back(), sum + 2 * kFirstHeapBytes);
}

TEST_P(MmapThreshold, LeavesNoHolesWithoutSurvivors) {
  EXPECT_EQ(place({"survivors=0"}).committed.back(), kFirstHeapBytes);
}

TEST_P(MmapThreshold, KeepsAMappedBlockMappedWhateverItsSize) {
  const Placed placed = place({"variant=remap"});
  EXPECT_EQ(placed.committed,
            (std::vector<uint64_t>{kFirstHeapBytes + 200'704, kFirstHeapBytes + 4096,
                                   kFirstHeapBytes + 5'001'216}));
}

INSTANTIATE_TEST_SUITE_P(Glibc, MmapThreshold, testing::Values("glibc", "model:ptmalloc"),
                         [](const auto& instance) {
                           return std::string(instance.index == 0 ? "real" : "model");
                         });

TEST(FixedMmapThreshold, GivesEveryLargeBlockBack) {
  const auto runs = tests::replay_scenario_on_each(
      "mmap-threshold", {}, {"glibc GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072"});
  EXPECT_EQ(runs.at(0).end.committed_bytes, kFirstHeapBytes);
}

}  // namespace
}  // namespace heaptape
