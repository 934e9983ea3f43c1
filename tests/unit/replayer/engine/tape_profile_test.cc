#include "replayer/engine/tape_profile.h"

#include <gtest/gtest.h>

#include "replayer/engine/slot_resolver.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using schema::Event;
using tests::free_event;
using tests::malloc_event;
using tests::realloc_event;

constexpr uint64_t kFirst = 0x10000;
constexpr uint64_t kSecond = 0x20000;
constexpr uint64_t kThird = 0x30000;

class AProfile : public testing::Test {
 protected:
  // Of a program that makes just these calls, a microsecond each.
  void of(const std::vector<Event>& events) {
    ResolvedBatch resolved;
    schema::EventBatch batch;
    batch.events = events;
    batch.times = {{events.size(), 1000 * events.size()}};
    resolver_.emplace(events.size());
    EXPECT_TRUE(resolver_->resolve(events, 0, resolved).ok());
    resolver_->finish();
    profile_.emplace().add(batch, 0, resolved.ops);
  }
  ThreadTotal thread(uint32_t number) { return profile_->threads().sorted().at(number); }

  const Lifetimes& lifetimes() { return resolver_->program().lifetimes(); }
  const GrowthChains& chains() { return resolver_->program().growth_chains(); }

  std::optional<SlotResolver> resolver_;
  std::optional<TapeProfile> profile_;
};

uint64_t calls_of(const LogHistogram& lifetimes, uint64_t value) {
  for (const auto& bucket : lifetimes.buckets()) {
    if (bucket.from == value) return bucket.count;
  }
  return 0;
}

TEST_F(AProfile, HasLifetimeZeroForABlockFreedAtOnce) {
  of({malloc_event(1, kFirst), free_event(kFirst)});
  EXPECT_EQ(calls_of(lifetimes().in_calls(), 0), 1u);
}

TEST_F(AProfile, CountsCallsBetweenAllocationAndFree) {
  of({malloc_event(1, kFirst), malloc_event(1, kSecond), free_event(0), free_event(kFirst)});
  EXPECT_EQ(calls_of(lifetimes().in_calls(), 2), 1u);
}

TEST_F(AProfile, EndsNoLifetimeWithAResize) {
  of({malloc_event(1, kFirst), realloc_event(kFirst, 2, kSecond),
      realloc_event(kSecond, 3, kSecond), free_event(kSecond)});
  EXPECT_EQ(calls_of(lifetimes().in_calls(), 2), 1u);
  EXPECT_EQ(lifetimes().blocks(), 1u);
}

TEST_F(AProfile, KnowsLifetimesInTime) {
  of({malloc_event(1, kFirst), free_event(0), free_event(kFirst)});
  EXPECT_EQ(profile_->lifetimes_ns()->buckets().at(0).from, 1984u);  // 2,000 is in it
}

TEST_F(AProfile, HasNoMedianWhereMostBlocksStay) {
  of({malloc_event(1, kFirst), malloc_event(1, kSecond), malloc_event(1, kThird),
      free_event(kThird)});
  EXPECT_EQ(lifetimes().quantile(lifetimes().in_calls(), 50), std::nullopt);
  EXPECT_EQ(lifetimes().quantile(lifetimes().in_calls(), 33), 0u);
}

// Of 20 calls: under 10 % are 0 and 1, under 0.01 % is 0.
TEST_F(AProfile, SharesTheRunExactly) {
  std::vector<Event> events{malloc_event(1, kFirst), free_event(kFirst), malloc_event(1, kFirst),
                            free_event(0),           free_event(kFirst), malloc_event(1, kFirst),
                            free_event(0),           free_event(0),      free_event(kFirst)};
  events.resize(20, free_event(0));
  of(events);
  EXPECT_EQ(lifetimes().under_ten_thousandth(), 1u);
  EXPECT_EQ(lifetimes().under_tenth(), 2u);
}

TEST_F(AProfile, CountsSizesOfResizes) {
  of({malloc_event(100, kFirst), realloc_event(kFirst, 300, kSecond)});
  const auto buckets = profile_->sizes().buckets();
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].counts.live_count, 0u);
  EXPECT_EQ(buckets[1].counts.live_count, 1u);
  EXPECT_EQ(buckets[1].counts.bytes, 300u);
}

TEST_F(AProfile, CountsSizesAsTheProgramAskedForThem) {
  of({{schema::Op::kNew, 0, 0, 0, kFirst, 0}});
  EXPECT_EQ(profile_->sizes().total().largest, 0u);
}

TEST_F(AProfile, LeavesFailedCallsOut) {
  of({malloc_event(100, 0), malloc_event(5, kFirst), realloc_event(kFirst, 300, 0)});
  EXPECT_EQ(profile_->sizes().total().calls, 1u);
  EXPECT_EQ(chains().moved(), 0u);
  EXPECT_EQ(thread(0).calls, 3u);
}

TEST_F(AProfile, NamesAGrowthChainByTheBirthOfItsBlock) {
  of({free_event(0), malloc_event(100, kFirst, 1), realloc_event(kFirst, 200, kSecond),
      realloc_event(kSecond, 300, kFirst)});
  const GrowthChain& chain = chains().costliest().at(0);
  EXPECT_EQ(chain.birth, 2u);
  EXPECT_EQ(chain.thread, 1u);
  EXPECT_EQ(chain.copied_bytes, 300u);
}

TEST_F(AProfile, TellsResizesInPlaceFromMoves) {
  of({malloc_event(100, kFirst), realloc_event(kFirst, 200, kFirst),
      realloc_event(kFirst, 300, kSecond)});
  EXPECT_EQ(chains().in_place(), 1u);
  EXPECT_EQ(chains().moved(), 1u);
}

TEST_F(AProfile, GivesABlockToTheThreadThatResizedItLast) {
  of({malloc_event(100, kFirst, 0),
      {schema::Op::kRealloc, 1, 300, 0, kSecond, kFirst},
      {schema::Op::kRealloc, 2, 500, 0, kSecond, kSecond}});
  EXPECT_EQ(thread(0).live_count, 0u);
  EXPECT_EQ(thread(1).live_count, 0u);
  EXPECT_EQ(thread(1).asked_bytes, 300u);
  EXPECT_EQ(thread(2).live_bytes, 500u);
}

TEST_F(AProfile, CountsFreesOfOtherThreadsBlocksOnBothSides) {
  of({malloc_event(100, kFirst, 0), malloc_event(7, kSecond, 1), free_event(kFirst, 1),
      free_event(kSecond, 1)});
  EXPECT_EQ(thread(1).foreign_frees, 1u);
  EXPECT_EQ(thread(0).freed_by_others, 1u);
  EXPECT_EQ(thread(0).foreign_frees + thread(1).freed_by_others, 0u);
  EXPECT_EQ(thread(0).live_bytes + thread(1).live_count, 0u);
}

// A damaged tape has any number for a thread.
TEST_F(AProfile, HasThreadsOfEveryNumber) {
  of({malloc_event(100, kFirst, 4'000'000'000), malloc_event(300, kSecond, 7)});
  EXPECT_EQ(thread(4'000'000'000).live_bytes, 100u);
  EXPECT_EQ(thread(7).live_bytes, 300u);
  EXPECT_EQ(profile_->threads().sorted().size(), 2u);
}

}  // namespace
}  // namespace heaptape::replayer
