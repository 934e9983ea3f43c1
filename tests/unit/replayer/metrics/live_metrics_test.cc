#include "replayer/metrics/live_metrics.h"

#include <gtest/gtest.h>

#include "replayer/engine/slot_resolver.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using tests::free_event;
using tests::malloc_event;
using tests::realloc_event;

constexpr uint64_t kHere = 0x10000;
constexpr uint64_t kThere = 0x20000;

// Of a program that makes just these calls.
LiveMetrics metrics_of(const std::vector<schema::Event>& events) {
  SlotResolver resolver;
  ResolvedBatch batch;
  EXPECT_TRUE(resolver.resolve(events, 0, batch).ok());
  return resolver.live();
}

TEST(LiveMetrics, StartAtNothing) {
  const LiveMetrics metrics = metrics_of({});
  EXPECT_EQ(metrics.values().live_count, 0u);
  EXPECT_EQ(metrics.live_bytes_peak().at, 0u);
}

TEST(LiveMetrics, CountBlocksAndRequestedBytes) {
  const auto values = metrics_of({malloc_event(10, kHere), malloc_event(7, kThere)}).values();
  EXPECT_EQ(values.live_count, 2u);
  EXPECT_EQ(values.live_bytes, 17u);
}

// malloc(100); realloc(p, 150) in place: upper 100 + 150, lower 150.
TEST(LiveMetrics, BoundWhatGrowingInPlaceAsksFor) {
  const auto values =
      metrics_of({malloc_event(100, kHere), realloc_event(kHere, 150, kHere)}).values();
  EXPECT_EQ(values.cumulative_bytes_upper, 250u);
  EXPECT_EQ(values.cumulative_bytes_lower, 150u);
  EXPECT_EQ(values.live_bytes, 150u);
}

// The program asked for the same, wherever the block went.
TEST(LiveMetrics, BoundWhatAMoveAsksForAlike) {
  const auto values =
      metrics_of({malloc_event(100, kHere), realloc_event(kHere, 150, kThere)}).values();
  EXPECT_EQ(values.cumulative_bytes_upper, 250u);
  EXPECT_EQ(values.cumulative_bytes_lower, 150u);
}

// realloc(p, 0) that frees asks for nothing and takes nothing back of what was asked for.
TEST(LiveMetrics, CountResizeToNothingAsAFree) {
  const auto values = metrics_of({malloc_event(100, kHere), realloc_event(kHere, 0, 0)}).values();
  EXPECT_EQ(values.cumulative_bytes_upper, 100u);
  EXPECT_EQ(values.cumulative_bytes_lower, 100u);
  EXPECT_EQ(values.live_bytes, 0u);
}

TEST(LiveMetrics, LetTheLowerBoundFallWhenABlockShrinks) {
  const auto values =
      metrics_of({malloc_event(100, kHere), realloc_event(kHere, 30, kHere)}).values();
  EXPECT_EQ(values.cumulative_bytes_upper, 130u);
  EXPECT_EQ(values.cumulative_bytes_lower, 30u);
}

TEST(LiveMetrics, LeaveFailedCallsOut) {
  const auto values =
      metrics_of({malloc_event(100, 0), malloc_event(8, kHere), realloc_event(kHere, 1 << 20, 0)})
          .values();
  EXPECT_EQ(values.cumulative_bytes_upper, 8u);
  EXPECT_EQ(values.cumulative_bytes_lower, 8u);
}

// Large ones are those of 128 KiB and more.
TEST(LiveMetrics, KnowWhatIsInLargeBlocks) {
  const uint64_t large = LiveMetrics::kLargeBytes;
  const auto grown = metrics_of({malloc_event(large - 1, kHere), malloc_event(large, kThere)});
  EXPECT_EQ(grown.large_bytes(), large);
  EXPECT_EQ(grown.large_bytes_at_peak(), large);
}

TEST(LiveMetrics, FollowLargeBlocksThatComeAndGo) {
  const uint64_t large = LiveMetrics::kLargeBytes;
  const auto metrics = metrics_of({malloc_event(8, kHere), realloc_event(kHere, large, kThere),
                                   malloc_event(large, kHere), free_event(kHere),
                                   realloc_event(kThere, 16, kThere), malloc_event(2, kHere)});
  EXPECT_EQ(metrics.large_bytes(), 0u);
  EXPECT_EQ(metrics.large_bytes_at_peak(), 2 * large);
}

TEST(LiveMetrics, CountABlockFreedByTheNextCallAsTemporary) {
  EXPECT_EQ(metrics_of({malloc_event(1, kHere), free_event(kHere)}).values().temporaries, 1u);
}

TEST(LiveMetrics, CountNoTemporaryWhenAnotherCallComesBetween) {
  EXPECT_EQ(
      metrics_of({malloc_event(1, kHere), free_event(0), free_event(kHere)}).values().temporaries,
      0u);
  EXPECT_EQ(metrics_of({malloc_event(1, kHere), realloc_event(kHere, 2, kHere), free_event(kHere)})
                .values()
                .temporaries,
            0u);
}

TEST(LiveMetrics, CountNoTemporaryForAnotherBlock) {
  EXPECT_EQ(metrics_of({malloc_event(1, kHere), malloc_event(1, kThere), free_event(kHere)})
                .values()
                .temporaries,
            0u);
}

TEST(LiveMetrics, RememberTheFirstCallThatReachedThePeak) {
  const LiveMetrics metrics =
      metrics_of({malloc_event(10, kHere), free_event(kHere), malloc_event(10, kHere),
                  realloc_event(kHere, 30, kHere), malloc_event(1, kThere), free_event(kThere)});
  EXPECT_EQ(metrics.live_bytes_peak().value, 31u);
  EXPECT_EQ(metrics.live_bytes_peak().at, 5u);
  EXPECT_EQ(metrics.live_count_peak().value, 2u);
  EXPECT_EQ(metrics.live_count_peak().at, 5u);
}

TEST(LiveMetrics, SeePeaksThatAResizeReaches) {
  const LiveMetrics metrics = metrics_of(
      {malloc_event(10, kHere), realloc_event(kHere, 30, kHere), realloc_event(kHere, 5, kHere)});
  EXPECT_EQ(metrics.live_bytes_peak().value, 30u);
  EXPECT_EQ(metrics.live_bytes_peak().at, 2u);
}

}  // namespace
}  // namespace heaptape::replayer
