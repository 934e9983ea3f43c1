// calloc-loop and ring-mix: their calls, and the numbers on their pages.
#include <gtest/gtest.h>

#include "tests/support/scenario_tapes.h"

namespace heaptape {
namespace {

using tests::counters_of;
using tests::replay_scenario;

TEST(CallocLoop, ZeroesATerabyteOnMacos) {
  const auto run = replay_scenario("calloc-loop", {}, "model:macos-large");
  EXPECT_EQ(run.accounting.replayed, 20'000u);
  EXPECT_EQ(run.live_bytes_peak.value, 104'857'600u);
  EXPECT_EQ(counters_of(run).at("bytesZeroed"), 1'048'471'142'400u);
}

TEST(CallocLoop, HoldsAHundredMebibytesOfWhichNoneAreResidentAtTheEnd) {
  const auto run = replay_scenario("calloc-loop", {}, "model:macos-large");
  EXPECT_EQ(run.end.committed_bytes, 104'857'600u);
  EXPECT_EQ(run.end.resident_bytes, 0u);
}

TEST(CallocLoop, ZeroesNothingOnMacosAt1000MiB) {
  auto counters =
      counters_of(replay_scenario("calloc-loop", {"size=1000MiB"}, "model:macos-large"));
  EXPECT_EQ(counters["bytesZeroed"], 0u);
  EXPECT_EQ(counters["vmMap"], 10'000u);
  EXPECT_EQ(counters["vmDealloc"], 10'000u);
}

TEST(CallocLoop, ZeroesNothingOnGlibc) {
  const auto run = replay_scenario("calloc-loop", {}, "model:ptmalloc");
  EXPECT_EQ(run.accounting.replayed, 20'000u);
  EXPECT_EQ(counters_of(run).at("bytesZeroed"), 0u);
}

TEST(RingMix, EvictsOneBlockInOneRoundOf17Sizes) {
  auto counters = counters_of(replay_scenario("ring-mix", {"rounds=1"}, "model:macos-large"));
  EXPECT_EQ(counters["cacheEvictions"], 1u);
  EXPECT_EQ(counters["vmMap"], 17u);
}

TEST(RingMix, MissesAndEvictsOncePerRoundOf17Sizes) {
  auto counters = counters_of(replay_scenario("ring-mix", {}, "model:macos-large"));
  EXPECT_EQ(counters["vmMap"], 17u + 99);
  EXPECT_EQ(counters["cacheHits"], 99u * 16);
  EXPECT_EQ(counters["cacheEvictions"], 100u);
}

TEST(RingMix, FitsTheRingWith16Sizes) {
  auto counters = counters_of(replay_scenario("ring-mix", {"count=16"}, "model:macos-large"));
  EXPECT_EQ(counters["vmMap"], 16u);
  EXPECT_EQ(counters["cacheHits"], 99u * 16);
  EXPECT_EQ(counters["cacheEvictions"], 0u);
}

TEST(RingMix, CanAllocateByCalloc) {
  auto counters = counters_of(
      replay_scenario("ring-mix", {"count=2", "rounds=2", "calloc=on"}, "model:macos-large"));
  EXPECT_EQ(counters["bytesZeroed"], 2u * (1 << 20) + (64 << 10));
}

}  // namespace
}  // namespace heaptape
