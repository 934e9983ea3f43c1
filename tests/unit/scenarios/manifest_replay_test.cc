// What manifest-patching leaves an allocator holding. Inequalities, over two random streams: what a
// single one leads to is chance. docs/scenarios/manifest-patching.md.
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/scenario_tapes.h"

namespace heaptape {
namespace {

using replayer::RunMetrics;

// 300 manifests of 1.00 to 1.03 MB.
std::vector<std::string> values(const std::string& variant, const std::string& pins,
                                const std::string& seed) {
  return {"manifests=300",      "length=1000000", "growth=100",
          "variant=" + variant, "pins=" + pins,   "seed=" + seed};
}

// Summed up over the streams.
struct Held {
  uint64_t end = 0;   // committed when all is done
  uint64_t peak = 0;  // committed at most
  uint64_t resident_peak = 0;
  uint64_t large_holes = 0;  // of 64 KiB and more, at the end
};

Held held(const std::string& spec, const std::string& variant, const std::string& pins = "on") {
  Held sum;
  for (const char* seed : {"1", "2"}) {
    const auto runs =
        tests::replay_scenario_on_each("manifest-patching", values(variant, pins, seed), {spec});
    sum.end += runs.at(0).end.committed_bytes;
    sum.peak += runs.at(0).committed_bytes_peak.value;
    sum.resident_peak += runs.at(0).resident_bytes_peak.value;
    sum.large_holes += runs.at(0).end.holes.over_64_kib;
  }
  return sum;
}

struct Glibc {
  const char* name;
  const char* as_is;
  const char* fixed;     // the threshold for mappings never rises
  const char* uncached;  // no caches of threads, as before glibc 2.26

  friend void PrintTo(const Glibc& glibc, std::ostream* out) { *out << glibc.name; }
};
constexpr Glibc kGlibcs[] = {
    {"real", "glibc", "glibc GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072",
     "glibc GLIBC_TUNABLES=glibc.malloc.tcache_count=0"},
    {"model", "model:ptmalloc", "model:ptmalloc:mmap_threshold=131072",
     "model:ptmalloc:tcache_count=0"},
};

class ManifestsOnGlibc : public testing::TestWithParam<Glibc> {};

TEST_P(ManifestsOnGlibc, CostMoreInStringsWhereSmallBlocksAreKept) {
  EXPECT_GT(held(GetParam().as_is, "str", "on").end, held(GetParam().as_is, "str", "off").end);
}

TEST_P(ManifestsOnGlibc, CostMoreInByteArraysWhereSmallBlocksAreKept) {
  EXPECT_GT(held(GetParam().as_is, "bytearray", "on").end,
            held(GetParam().as_is, "bytearray", "off").end);
}

TEST_P(ManifestsOnGlibc, CostMoreWithoutCachesWhereSmallBlocksAreKept) {
  EXPECT_GT(held(GetParam().uncached, "str", "on").end,
            held(GetParam().uncached, "str", "off").end);
}

TEST_P(ManifestsOnGlibc, CostLessWithAFixedThreshold) {
  const Held dynamic = held(GetParam().as_is, "str");
  const Held fixed = held(GetParam().fixed, "str");
  EXPECT_LT(fixed.end, dynamic.end);
  EXPECT_LT(fixed.peak, dynamic.peak);
  EXPECT_GT(dynamic.large_holes, 0u);
  EXPECT_EQ(fixed.large_holes, 0u);
}

TEST_P(ManifestsOnGlibc, CostLeastJoined) {
  const uint64_t joined = held(GetParam().uncached, "join").peak;
  EXPECT_GT(held(GetParam().uncached, "str").peak, joined);
  EXPECT_GT(held(GetParam().uncached, "bytearray").peak, joined);
}

INSTANTIATE_TEST_SUITE_P(Glibc, ManifestsOnGlibc, testing::ValuesIn(kGlibcs),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(ManifestsOnModels, AreAsOnGlibcToTheByte) {
  const std::string reason = tests::not_glibc_2_36("glibc");
  if (!reason.empty()) GTEST_SKIP() << reason;
  for (const char* variant : {"str", "bytearray", "join", "prealloc"}) {
    const auto runs = tests::replay_scenario_on_each(
        "manifest-patching", values(variant, "on", "1"), {"glibc", "model:ptmalloc"});
    EXPECT_EQ(runs.at(0).end.committed_bytes, runs.at(1).end.committed_bytes) << variant;
    EXPECT_EQ(runs.at(0).committed_bytes_peak.value, runs.at(1).committed_bytes_peak.value);
    EXPECT_EQ(runs.at(0).end.holes.bytes, runs.at(1).end.holes.bytes) << variant;
    EXPECT_EQ(runs.at(0).end.holes.count, runs.at(1).end.holes.count) << variant;
  }
}

// What model:runs keeps for later is committed but purged, so it goes by what is resident.
TEST(ManifestsOnModels, CostRunsLessThanGlibc) {
  EXPECT_LT(held("model:runs", "str").resident_peak, held("model:ptmalloc", "str").end);
  EXPECT_LT(held("model:runs", "bytearray").resident_peak, held("model:ptmalloc", "bytearray").end);
}

}  // namespace
}  // namespace heaptape
