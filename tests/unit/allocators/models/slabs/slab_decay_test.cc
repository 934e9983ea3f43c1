// Free pages of model:slabs go as the time of the tape goes by.
#include <gtest/gtest.h>

#include "allocators/models/slabs/slabs_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators {
namespace {

using slabs::SmoothDecay;

constexpr uint64_t kStepNs = 50'000'000;  // 10 s / 200
constexpr uint64_t kHalfNs = 100 * kStepNs;

TEST(SmoothDecay, TakesAStepEvery50Milliseconds) {
  SmoothDecay decay(10000);
  EXPECT_FALSE(decay.advance(kStepNs - 1, 1000));
  EXPECT_TRUE(decay.advance(kStepNs, 1000));
  EXPECT_FALSE(decay.advance(2 * kStepNs - 1, 1000));
  EXPECT_EQ(decay.limit_pages(), 1000u);
}

TEST(SmoothDecay, LetsHalfStayAfterHalfTheTimeAndNothingAtTheEnd) {
  SmoothDecay decay(10000);
  decay.advance(kStepNs, 1'000'000);
  decay.advance(kStepNs + kHalfNs / 2, 1'000'000);
  EXPECT_EQ(decay.limit_pages(), 896'484u);  // 1 - (6x^5 - 15x^4 + 10x^3) at x = 1/4
  decay.advance(kStepNs + kHalfNs, 896'484);
  EXPECT_EQ(decay.limit_pages(), 500'000u);
  decay.advance(kStepNs + 2 * kHalfNs, 500'000);
  EXPECT_EQ(decay.limit_pages(), 0u);
}

TEST(SmoothDecay, CountsPagesFromTheStepInWhichTheyCameUp) {
  SmoothDecay decay(10000);
  decay.advance(kStepNs, 1000);
  decay.advance(kStepNs + kHalfNs, 1000 + 600);
  EXPECT_EQ(decay.limit_pages(), 500u + 600u);
}

TEST(SmoothDecay, CountsNoPagesAnewThatOnlyReplaceWhatMayStay) {
  SmoothDecay decay(10000);
  decay.advance(kStepNs, 1'000'000);
  decay.advance(kStepNs + kHalfNs, 0);  // all in use again; 500,000 may stay
  const uint64_t before = decay.limit_pages();
  decay.advance(2 * kStepNs + kHalfNs, before);
  EXPECT_LT(decay.limit_pages(), before);
}

TEST(SmoothDecay, CountsPagesAnewBeyondWhatMayStay) {
  SmoothDecay decay(10000);
  decay.advance(kStepNs, 1'000'000);
  decay.advance(kStepNs + kHalfNs, 0);
  decay.advance(kStepNs + 2 * kHalfNs, 500'000 + 300);
  EXPECT_EQ(decay.limit_pages(), 300u);
}

TEST(SmoothDecay, CountsNoPagesAnewThatWereFreeAtTheLastStep) {
  SmoothDecay decay(10000);
  decay.advance(kStepNs, 1'000'000);
  decay.advance(kStepNs + kHalfNs, 1'000'000);  // half of these may stay
  decay.advance(2 * kStepNs + kHalfNs, 600'000);
  EXPECT_LT(decay.limit_pages(), 500'000u);
}

TEST(SmoothDecay, ForgetsAllAfterALongPause) {
  SmoothDecay decay(10000);
  decay.advance(kStepNs, 1000);
  decay.advance(1000 * kStepNs, 1000);
  EXPECT_EQ(decay.limit_pages(), 0u);
}

// Pages decay when calls come in: at every 1,000th that reaches the arena, which without caches all
// do.
class Decay : public testing::Test, protected tests::ModelHeap<SlabsModel> {
 protected:
  static constexpr uint64_t kExtentPages = 17;  // of a block of 64 KiB

  explicit Decay(const std::vector<std::string>& options = {"tcache=off"}) : ModelHeap(options) {
    allocate(16);  // its slab stays
  }
  // Dirty extents that cannot be joined, for there are blocks between them.
  void free_extents(size_t count) {
    const auto blocks = allocate_many(2 * count, 65536);
    for (size_t i = 0; i < count; ++i) release(blocks[2 * i]);
  }
  void at(uint64_t time_ns) {
    model().set_time(time_ns);
    for (int i = 0; i < 501; ++i) release(allocate(16));
  }
};

TEST_F(Decay, PurgesNothingAtFirst) {
  free_extents(100);
  at(0);
  at(kStepNs - 1);
  at(kStepNs);
  EXPECT_EQ(counter("dirtyPages"), 100 * kExtentPages);
  EXPECT_EQ(counter("pagesPurged"), 0u);
}

TEST_F(Decay, PurgesTheOldestHalfAfterHalfTheTime) {
  free_extents(100);
  at(kStepNs);
  at(kStepNs + kHalfNs);
  EXPECT_EQ(counter("dirtyPages"), 50 * kExtentPages);
  EXPECT_EQ(counter("pagesPurged"), 50 * kExtentPages);
}

TEST_F(Decay, PurgesAllAfterTenSeconds) {
  free_extents(100);
  at(kStepNs);
  at(kStepNs + 2 * kHalfNs);
  EXPECT_EQ(counter("dirtyPages"), 0u);
  EXPECT_EQ(counter("pagesPurged"), 100 * kExtentPages);
}

// Of the 17 pages 8 may stay, but an extent goes as a whole.
TEST_F(Decay, PurgesAnExtentThatIsPartlyBeyondTheLimit) {
  free_extents(1);
  at(kStepNs);
  at(kStepNs + kHalfNs);
  EXPECT_EQ(counter("dirtyPages"), 0u);
}

TEST_F(Decay, LeavesPurgedPagesCommittedAndAbsent) {
  const uint64_t block = allocate(65536);
  allocate(65536);
  const uint64_t page = block & ~uint64_t{4095};
  release(block);
  EXPECT_EQ(absent_bytes(page, 65536), 0u);
  at(kStepNs);
  at(3 * kHalfNs);
  EXPECT_EQ(absent_bytes(page, 69632), 69632u);
  check_absent();
}

TEST_F(Decay, GoesByTheTimeOfTheTapeAlone) {
  free_extents(10);
  for (int i = 0; i < 20; ++i) at(0);
  EXPECT_EQ(counter("pagesPurged"), 0u);
}

TEST_F(Decay, WaitsForCallsThatReachTheArena) {
  free_extents(10);
  at(kStepNs);
  model().set_time(100 * kHalfNs);
  release(allocate(16));
  EXPECT_EQ(counter("pagesPurged"), 0u);
}

struct NoDecay : Decay {
  NoDecay() : Decay({"tcache=off", "decay=off"}) {}
};
TEST_F(NoDecay, PurgesNothingEver) {
  free_extents(10);
  at(kStepNs);
  at(1000 * kHalfNs);
  EXPECT_EQ(counter("dirtyPages"), 10 * kExtentPages);
}

struct DecayAtOnce : Decay {
  DecayAtOnce() : Decay({"tcache=off", "dirty_decay_ms=0"}) {}
};
TEST_F(DecayAtOnce, PurgesEachExtentAsItIsFreed) {
  free_extents(3);
  EXPECT_EQ(counter("dirtyPages"), 0u);
  EXPECT_EQ(counter("pagesPurged"), 3 * kExtentPages);
}

struct DecayWithCaches : Decay {
  DecayWithCaches() : Decay({"muzzy_decay_ms=10000"}) {}
  // Calls that no cache serves.
  void large_calls_at(uint64_t time_ns) {
    model().set_time(time_ns);
    for (int i = 0; i < 501; ++i) release(allocate(65536));
  }
};
TEST_F(DecayWithCaches, LeavesNothingMuzzyBehindTheLastThreadOfAnArena) {
  model().set_thread(1);
  free_extents(10);
  large_calls_at(kStepNs);
  large_calls_at(kStepNs + 2 * kHalfNs);
  EXPECT_GT(counter("muzzyPages"), 0u);
  model().end_thread(1);
  EXPECT_EQ(counter("muzzyPages"), 0u);
}
TEST_F(DecayWithCaches, GoesOnInTheFirstArenaWhereAThreadEnds) {
  for (const uint32_t thread : {1, 2, 0}) {
    model().set_thread(thread);
    allocate(16);
  }
  free_extents(10);
  for (const uint32_t thread : {1, 2}) {
    model().set_time(thread * 3 * kHalfNs);
    model().end_thread(thread);
  }
  EXPECT_EQ(counter("dirtyPages"), 0u);
}

struct DecayInTwoStages : Decay {
  DecayInTwoStages() : Decay({"tcache=off", "muzzy_decay_ms=10000"}) {}
};
TEST_F(DecayInTwoStages, LetsDirtyPagesBeMuzzyFirst) {
  free_extents(10);
  at(kStepNs);
  at(kStepNs + 2 * kHalfNs);
  EXPECT_EQ(counter("muzzyPages"), 10 * kExtentPages);
  EXPECT_EQ(counter("pagesPurged"), 0u);
  at(2 * kStepNs + 2 * kHalfNs);
  at(2 * kStepNs + 4 * kHalfNs);
  EXPECT_EQ(counter("muzzyPages"), 0u);
  EXPECT_EQ(counter("pagesPurged"), 10 * kExtentPages);
}

}  // namespace
}  // namespace heaptape::allocators
