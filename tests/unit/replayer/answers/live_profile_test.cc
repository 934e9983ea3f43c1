#include "replayer/answers/live_profile.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

using LiveChange = LiveProfile::Change;

// A program of blocks of 100 bytes.
class LiveProfileTest : public testing::Test {
 protected:
  void allocate(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) note(live_ += 100, LiveChange::kAllocated);
  }
  void allocate_anew(uint64_t count) {
    live_ = event_ = 0;
    allocate(count);
  }
  void release(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) note(live_ -= 100, LiveChange::kFreed);
  }
  void work(uint64_t pairs) {
    for (uint64_t i = 0; i < pairs; ++i) {
      allocate(1);
      release(1);
    }
  }
  void resize(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) note(live_, LiveChange::kNone);
  }
  void pause() { profile_.note_pause(); }

  uint64_t event_ = 0;
  LiveProfile profile_;

 private:
  void note(uint64_t live, LiveChange change) { profile_.note(++event_, live, change); }

  uint64_t live_ = 0;
};

TEST_F(LiveProfileTest, PeakIsTheFirstCallThatReachesIt) {
  allocate(50);
  work(10);
  release(20);
  EXPECT_EQ(profile_.peak_at(), 51u);
}

TEST_F(LiveProfileTest, WithoutTeardownTheExitIsTheEnd) {
  allocate(50);
  work(10);
  EXPECT_EQ(profile_.exit_at(), 70u);
}

TEST_F(LiveProfileTest, ExitIsTheLastCallBeforeEverythingIsFreed) {
  allocate(500);
  work(100);
  release(500);
  EXPECT_EQ(profile_.exit_at(), 699u);  // the free of the last pair is the first of many
}

TEST_F(LiveProfileTest, ATeardownMayAllocateALittle) {
  allocate(500);
  for (int i = 0; i < 9; ++i) {
    release(51);
    work(1);
  }
  EXPECT_EQ(profile_.exit_at(), 500u);
}

TEST_F(LiveProfileTest, WhatIsFreedInTheMiddleIsNoTeardown) {
  allocate(1000);
  release(900);
  work(300);
  release(100);
  EXPECT_EQ(profile_.exit_at(), 2499u);
}

TEST_F(LiveProfileTest, APauseEndsATeardown) {
  allocate(1000);
  release(900);
  pause();
  release(100);
  EXPECT_EQ(profile_.exit_at(), 1900u);
}

TEST_F(LiveProfileTest, PlateauIsTheEndOfTheLowStretchAfterTheLargestFall) {
  allocate(1000);
  release(800);
  work(5000);
  allocate(600);
  work(100);
  EXPECT_EQ(profile_.plateau_at(), 11'900u);  // there it has risen by an eighth of the fall
}

TEST_F(LiveProfileTest, APauseAfterAFallIsAPlateau) {
  allocate(100'000);
  release(90'000);
  pause();
  release(10'000);
  EXPECT_EQ(profile_.plateau_at(), 190'000u);
}

TEST_F(LiveProfileTest, ATeardownIsNoFall) {
  allocate(1000);
  work(100);
  release(1000);
  EXPECT_FALSE(profile_.plateau_at());
}

TEST_F(LiveProfileTest, AFallOfLessThanAnEighthOfThePeakIsNone) {
  allocate(1000);
  release(120);
  work(5000);
  EXPECT_FALSE(profile_.plateau_at());
}

// Work needs a block more than is live.
TEST_F(LiveProfileTest, AFallOfJustAnEighthOfThePeakIsOne) {
  for (const uint64_t freed : {125, 126}) {
    profile_ = {};
    allocate_anew(1000);
    release(freed);
    work(500);
    allocate(1);
    EXPECT_EQ(profile_.plateau_at().has_value(), freed == 126) << freed;
  }
}

TEST_F(LiveProfileTest, AfterTwoFallsAsLargeThePlateauIsTheLaterPause) {
  allocate(1000);
  for (int i = 0; i < 2; ++i) {
    release(500);
    pause();
    if (i == 0) allocate(500);
  }
  release(500);
  EXPECT_EQ(profile_.plateau_at(), 2500u);
}

// Calls are joined in buckets of up to eight.
TEST_F(LiveProfileTest, ExitIsTheLastOfTheCallsThatChangedNothingBeforeATeardown) {
  for (const uint64_t resizes : {97, 98, 99, 100, 101, 102, 103, 104}) {
    profile_ = {};
    allocate_anew(5000);
    resize(resizes);
    release(5000);
    EXPECT_EQ(profile_.exit_at(), 5000 + resizes);
  }
}

TEST_F(LiveProfileTest, AMomentsDipInALongRunIsNoPlateau) {
  allocate(1000);
  work(100'000);
  release(900);
  allocate(900);
  work(100'000);
  EXPECT_FALSE(profile_.plateau_at());
}

TEST_F(LiveProfileTest, ARunThatEndsLowEndsOnItsPlateau) {
  allocate(1000);
  release(900);
  work(1000);
  EXPECT_EQ(profile_.plateau_at(), 3900u);
}

TEST_F(LiveProfileTest, OfNoCallsHasTheBeginning) {
  EXPECT_EQ(profile_.peak_at(), 0u);
  EXPECT_EQ(profile_.exit_at(), 0u);
  EXPECT_FALSE(profile_.plateau_at());
}

}  // namespace
}  // namespace heaptape::replayer
