// Models of an allocator obey what a program tells it.
#include <gtest/gtest.h>
#include <malloc.h>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "allocators/models/slabs/slabs_model.h"
#include "tests/support/model_heap.h"
#include "tests/support/sizes.h"

namespace heaptape::allocators {
namespace {

using schema::SteeringOp;
using tests::kMiB;

class SteeredPtmalloc : public testing::Test, protected tests::ModelHeap<PtmallocModel> {
 protected:
  void set(int parameter, int64_t value) {
    EXPECT_EQ(steer(SteeringOp::kMallopt, parameter, value), SteeringOutcome::kRepeated);
  }
};

TEST_F(SteeredPtmalloc, MapsFromItsNewThresholdOn) {
  set(M_MMAP_THRESHOLD, 65536);
  allocate(130'000);  // top has the room
  allocate(65'000);
  allocate(130'000);  // of what the break moved too far
  EXPECT_EQ(counter("mmapCalls"), 0u);
  allocate(100'000);
  EXPECT_EQ(counter("mmapCalls"), 1u);
}

TEST_F(SteeredPtmalloc, KeepsAThresholdThatWasSet) {
  set(M_MMAP_THRESHOLD, 65536);
  release(allocate(1'000'000));
  EXPECT_EQ(counter("mmapThreshold"), 65536u);
}

TEST_F(SteeredPtmalloc, TakesThePadOnTop) {
  set(M_TOP_PAD, 16 * kMiB);
  allocate(100);
  EXPECT_GT(committed_bytes(), 16 * kMiB);
}

TEST_F(SteeredPtmalloc, MapsNothingIfItMayNot) {
  set(M_MMAP_MAX, 0);
  allocate(kMiB);
  EXPECT_EQ(counter("mmapCalls"), 0u);
}

TEST_F(SteeredPtmalloc, MapsNothingIfItMayMapLessThanNothing) {
  set(M_MMAP_MAX, -1);
  allocate(kMiB);
  EXPECT_EQ(counter("mmapCalls"), 0u);
}

TEST_F(SteeredPtmalloc, TrimsTopFromItsNewThresholdOn) {
  set(M_TRIM_THRESHOLD, -1);
  const auto blocks = allocate_many(100, 100'000);
  release_all(blocks);
  EXPECT_EQ(counter("brkDown"), 0u);
}

// Seven go to the cache of the thread; M_MXFAST says what becomes of the eighth.
TEST_F(SteeredPtmalloc, HasNoFastbinsWhereTheyAreOff) {
  const auto fast_hits = [this] {
    const auto blocks = allocate_many(9, 40);
    release_all(blocks);
    allocate_many(9, 40);
    return counter("fastbinHits");
  };
  EXPECT_EQ(fast_hits(), 1u);
  set(M_MXFAST, 0);
  EXPECT_EQ(fast_hits(), 1u);
  set(M_MXFAST, 161);  // which glibc refuses
  EXPECT_EQ(fast_hits(), 1u);
  set(M_MXFAST, 160);
  EXPECT_GT(fast_hits(), 1u);
}

TEST_F(SteeredPtmalloc, MakesNoMoreArenasThanItMay) {
  set(M_ARENA_MAX, 1);
  allocate(100);
  model().set_thread(1);
  allocate(100);
  EXPECT_EQ(counter("arenas"), 1u);
}

TEST_F(SteeredPtmalloc, KeepsThePadOfATrim) {
  set(M_TRIM_THRESHOLD, 1 << 30);
  release_all(allocate_many(100, 100'000));
  EXPECT_EQ(steer(SteeringOp::kMallocTrim, kMiB), SteeringOutcome::kRepeated);
  EXPECT_GT(committed_bytes(), kMiB);
  EXPECT_LT(committed_bytes(), 2 * kMiB);
  steer(SteeringOp::kMallocTrim, 0);
  EXPECT_LT(committed_bytes(), kMiB);
}

TEST_F(SteeredPtmalloc, HasNothingOfOtherAllocators) {
  EXPECT_EQ(steer(SteeringOp::kArenaPurge, 4096), SteeringOutcome::kIgnored);
}

// Nothing is purged as time passes.
class SteeredSlabs : public testing::Test, protected tests::ModelHeap<SlabsModel> {
 protected:
  SteeredSlabs() : ModelHeap({"decay=off"}) { release_all(allocate_many(100, 100'000)); }
  uint64_t dirty() const { return counter("dirtyPages"); }
};

TEST_F(SteeredSlabs, PurgesAllArenasOrOne) {
  ASSERT_GT(dirty(), 1000u);
  EXPECT_EQ(steer(SteeringOp::kArenaPurge, 7), SteeringOutcome::kRefused);
  EXPECT_GT(dirty(), 1000u) << "nothing of the arena that is not there";
  steer(SteeringOp::kArenaPurge, 0);
  EXPECT_EQ(dirty(), 0u);
  release_all(allocate_many(100, 100'000));
  steer(SteeringOp::kArenaPurge, 4096);
  EXPECT_EQ(dirty(), 0u);
}

TEST_F(SteeredSlabs, PurgesAtOnceWhereItIsToldTo) {
  steer(SteeringOp::kArenaDirtyDecay, 0, 0);
  EXPECT_EQ(dirty(), 0u);
}

// As no program asks, but a tape may say.
TEST_F(SteeredSlabs, TakesAnyNumberOfMilliseconds) {
  for (const int64_t milliseconds :
       {int64_t{1} << 58, INT64_MAX, INT64_MIN, int64_t{-2}, int64_t{1}}) {
    steer(SteeringOp::kArenaDirtyDecay, 0, milliseconds);
    steer(SteeringOp::kArenaMuzzyDecay, 0, milliseconds);
    steer(SteeringOp::kDefaultDirtyDecay, milliseconds);
    release_all(allocate_many(10, 100'000));
    model().set_time(1'000'000);
    steer(SteeringOp::kArenaDecay, 4096);
  }
  EXPECT_GT(committed_bytes(), 0u);
}

TEST_F(SteeredSlabs, DecaysFromTheMomentWhenItIsToldTo) {
  constexpr uint64_t kSecond = 1'000'000'000;
  model().set_time(100 * kSecond);
  steer(SteeringOp::kArenaDirtyDecay, 4096, 1000);
  EXPECT_GT(dirty(), 1000u);
  model().set_time(102 * kSecond);
  steer(SteeringOp::kArenaDecay, 4096);
  EXPECT_EQ(dirty(), 0u);
}

TEST_F(SteeredSlabs, GivesTheCacheOfAThreadBack) {
  release(allocate(100));
  const uint64_t before = counter("tcacheFlushes");
  EXPECT_EQ(steer(SteeringOp::kFlushThreadCache, 0), SteeringOutcome::kRepeated);
  EXPECT_GT(counter("tcacheFlushes"), before);
}

TEST_F(SteeredSlabs, MakesArenasAsItIsTold) {
  steer(SteeringOp::kDefaultDirtyDecay, 0);
  model().set_thread(1);
  release_all(allocate_many(100, 100'000));
  steer(SteeringOp::kArenaPurge, 0);
  EXPECT_EQ(dirty(), 0u);
}

TEST_F(SteeredSlabs, HasNothingOfOtherAllocators) {
  EXPECT_EQ(steer(SteeringOp::kMallopt, M_MXFAST, 0), SteeringOutcome::kIgnored);
}

}  // namespace
}  // namespace heaptape::allocators
