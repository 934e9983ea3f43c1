#include "recorder/ring/session_layout.h"

#include <gtest/gtest.h>

#include "recorder/ring/record.h"
#include "recorder/ring/stamp.h"
#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

uint64_t offset_of(const SessionView& session, const void* part) {
  return static_cast<uint64_t>(static_cast<const char*>(part) - session.pool().base);
}

TEST(SessionLayout, PartsFollowEachOtherWithoutOverlap) {
  const tests::FakeSession fake;
  const SessionView session = fake.view();
  EXPECT_EQ(offset_of(session, &session.header()), 0u);
  EXPECT_GE(offset_of(session, &session.part(0)), sizeof(PoolHeader));
  EXPECT_GE(offset_of(session, session.words(0)),
            offset_of(session, &session.part(kFirstParts - 1)) + sizeof(PoolPart));
  EXPECT_GE(offset_of(session, &session.part(kFirstParts)),
            offset_of(session, session.words(kFirstRings - 1)) + kRingBytes);
  EXPECT_GE(offset_of(session, session.words(kFirstRings)),
            offset_of(session, &session.part(kRings - 1)) + sizeof(PoolPart));
  EXPECT_EQ(offset_of(session, session.words(kRings - 1)) + kRingBytes, pool_bytes(kRings));
}

TEST(SessionLayout, NoticesFollowTheLobby) {
  const tests::FakeSession fake;
  const auto* const lobby = reinterpret_cast<const char*>(&fake.lobby());
  EXPECT_GE(reinterpret_cast<const char*>(&fake.view().notice(0)) - lobby,
            static_cast<long>(sizeof(Lobby)));
  EXPECT_LE(reinterpret_cast<const char*>(&fake.view().notice(kNotices)) - lobby,
            static_cast<long>(kLobbyBytes));
}

TEST(SessionLayout, BlocksHoldTheirPartsWithoutOverlap) {
  const tests::FakeSession fake;
  const SessionView session = fake.view();
  for (const uint32_t first : {kBlockParts, kRings - kBlockParts}) {
    const uint64_t begin = offset_of(session, &session.part(first));
    EXPECT_EQ(begin % kPageBytes, 0u);
    EXPECT_LE(offset_of(session, &session.part(first + kBlockParts - 1)) + sizeof(PoolPart),
              begin + kBlockBytes);
    EXPECT_GE(begin, offset_of(session, &session.part(first - 1)) + sizeof(PoolPart));
  }
}

TEST(SessionLayout, ProcessThatJoinsMapsWhatItsFirstThreadsNeed) {
  const tests::FakeSession fake;
  EXPECT_LE(offset_of(fake.view(), &fake.view().part(kFirstParts - 1)) + sizeof(PoolPart),
            kPageBytes);
  EXPECT_EQ(offset_of(fake.view(), fake.view().words(kFirstRings - 1)) + kRingBytes, kJoinBytes);
}

TEST(SessionLayout, WordsOfEachRingBeginOnAPage) {
  const tests::FakeSession fake;
  for (const uint32_t ring : {0u, 1u, kFirstRings, kRings - 1}) {
    EXPECT_EQ(offset_of(fake.view(), fake.view().words(ring)) % kPageBytes, 0u) << ring;
  }
}

TEST(SessionLayout, WhatTwoSidesWriteLiesInDifferentCacheLines) {
  constexpr uint64_t kLine = 64;
  EXPECT_EQ(offsetof(RingHeader, tail) % kLine, 0u);
  EXPECT_EQ(offsetof(RingHeader, lock) % kLine, 0u);
  EXPECT_NE(offsetof(RingHeader, head) / kLine, offsetof(RingHeader, tail) / kLine);
  EXPECT_NE(offsetof(RingHeader, tail) / kLine, offsetof(RingHeader, lost_full) / kLine);
  EXPECT_EQ(offsetof(Lobby, claims) % kLine, 0u);
  EXPECT_EQ(offsetof(Lobby, stamp_counter) % kLine, 0u);
  EXPECT_EQ(offsetof(Lobby, claimed_in) % kLine, 0u);
}

TEST(SessionLayout, RingHoldsWholeSegmentsAndSegmentsHoldRecords) {
  EXPECT_EQ(kRingWords % kSegmentWords, 0u);
  EXPECT_GE(kRingWords / kSegmentWords, 4u);  // one being written, half a ring to wake up for
  EXPECT_GE(kSegmentWords, 2 * kMaxRecordWords);
}

TEST(SessionLayout, ViewOfTheHeadersKnowsThatItIsNotWhole) {
  Board board{};
  char base[1];
  EXPECT_FALSE(SessionView().valid());
  EXPECT_TRUE(SessionView(board, base, {base, 0, 1024, PoolView::Mapped::kWhole}).is_whole());
  EXPECT_FALSE(SessionView(board, base, {base, 0, 1024}).is_whole());
}

// What the merge needs of either clock: later is never less, and nothing taken before a cut is
// above it.
class StampTest : public testing::TestWithParam<Clock> {
 protected:
  void SetUp() override { session_.board().clock = GetParam(); }
  tests::FakeSession session_;
};

TEST_P(StampTest, GrowsAndIsNeverZero) {
  uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t stamp = take_stamp(session_.view());
    EXPECT_GT(stamp, last);
    last = stamp;
  }
}

TEST_P(StampTest, CutIsNotBelowWhatWasTakenBefore) {
  const uint64_t before = take_stamp(session_.view());
  EXPECT_LE(before, stamp_now(session_.view()));
}

// Else a record could be merged before one that it depends on, which was published too late to be
// seen.
TEST_P(StampTest, CutIsBelowWhatIsTakenAfterwards) {
  const uint64_t cut = stamp_now(session_.view());
  EXPECT_LT(cut, take_stamp(session_.view()));
}

INSTANTIATE_TEST_SUITE_P(Clocks, StampTest, testing::Values(Clock::kTsc, Clock::kCounter),
                         [](const auto& clock) {
                           return clock.param == Clock::kTsc ? "Tsc" : "Counter";
                         });

}  // namespace
}  // namespace heaptape::recorder
