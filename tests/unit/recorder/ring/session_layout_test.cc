#include "recorder/ring/session_layout.h"

#include <gtest/gtest.h>

#include "recorder/ring/record.h"
#include "recorder/ring/stamp.h"
#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

uint64_t offset_of(const SessionView& session, const void* part) {
  return static_cast<uint64_t>(static_cast<const char*>(part) - session.base());
}

TEST(SessionLayout, PartsFollowEachOtherWithoutOverlap) {
  const tests::FakeSession fake;
  const SessionView session = fake.view();
  EXPECT_EQ(offset_of(session, &session.header()), 0u);
  EXPECT_GE(offset_of(session, &session.notice(0)), sizeof(SessionHeader));
  EXPECT_GE(offset_of(session, &session.process(0)),
            offset_of(session, &session.notice(kNotices - 1)) + sizeof(Notice));
  EXPECT_GE(offset_of(session, session.words(0)),
            offset_of(session, &session.ring(kRings - 1)) + sizeof(RingHeader));
  EXPECT_EQ(offset_of(session, session.words(kRings - 1)) + kRingBytes, session_bytes(kRings));
}

TEST(SessionLayout, BlocksHoldTheirPartsWithoutOverlap) {
  const tests::FakeSession fake;
  const SessionView session = fake.view();
  for (const uint32_t first : {0u, kBlockParts, kProcessSlots - kBlockParts}) {
    const uint32_t last = first + kBlockParts - 1;
    EXPECT_EQ(offset_of(session, &session.process(first)) % kPageBytes, 0u);
    EXPECT_GE(offset_of(session, &session.ring(first)),
              offset_of(session, &session.process(last)) + sizeof(ProcessSlot));
    EXPECT_LE(offset_of(session, &session.ring(last)) + sizeof(RingHeader),
              offset_of(session, session.block(first / kBlockParts)) + kBlockBytes);
  }
}

TEST(SessionLayout, ProcessThatJoinsMapsTheFirstBlock) {
  const tests::FakeSession fake;
  EXPECT_LE(offset_of(fake.view(), &fake.view().ring(kBlockParts - 1)) + sizeof(RingHeader),
            kJoinBytes);
}

TEST(SessionLayout, WordsOfEachRingBeginOnAPage) {
  const tests::FakeSession fake;
  for (const uint32_t ring : {0u, 1u, kRings - 1}) {
    EXPECT_EQ(offset_of(fake.view(), fake.view().words(ring)) % kPageBytes, 0u) << ring;
  }
}

TEST(SessionLayout, WhatTwoSidesWriteLiesInDifferentCacheLines) {
  constexpr uint64_t kLine = 64;
  EXPECT_EQ(offsetof(RingHeader, tail) % kLine, 0u);
  EXPECT_EQ(offsetof(RingHeader, lock) % kLine, 0u);
  EXPECT_NE(offsetof(RingHeader, head) / kLine, offsetof(RingHeader, tail) / kLine);
  EXPECT_NE(offsetof(RingHeader, tail) / kLine, offsetof(RingHeader, lost_full) / kLine);
  EXPECT_EQ(offsetof(SessionHeader, stamp_counter) % kLine, 0u);
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
  EXPECT_TRUE(SessionView(board, base, session_bytes(1024)).is_whole());
  EXPECT_FALSE(SessionView(board, base, kJoinBytes).is_whole());
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
