#include "allocators/native/latency_summary.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace heaptape::allocators {
namespace {

class LatencySummaryTest : public testing::Test {
 protected:
  void time(ReplayKind kind, uint64_t bytes, uint64_t ticks, uint64_t event) {
    (*histograms_)[static_cast<size_t>(kind)][size_band(bytes)].note(event, ticks, 0);
  }
  std::vector<LatencySummary> summaries() const {
    return summarize_latencies(histograms_->data(), 0.5);
  }

 private:
  using Bands = LatencyHistogram[kSizeBands];
  struct Histograms {
    Bands bands[kReplayKinds];
    Bands& operator[](size_t kind) { return bands[kind]; }
    const Bands* data() const { return bands; }
  };
  std::unique_ptr<Histograms> histograms_ = std::make_unique<Histograms>();
};

TEST_F(LatencySummaryTest, HasAllSizesBeforeEachBand) {
  time(ReplayKind::kMalloc, 10, 100, 61);
  time(ReplayKind::kMalloc, 200000, 100, 122);
  time(ReplayKind::kFree, 600, 100, 183);
  std::string names;
  for (const auto& summary : summaries()) {
    names += name_of(summary.kind) + ("," + summary.sizes) + " ";
  }
  EXPECT_EQ(names, "malloc, malloc,to64 malloc,above128KiB free, free,to4KiB ");
}

TEST_F(LatencySummaryTest, CountsTheBandsTogether) {
  time(ReplayKind::kMalloc, 10, 100, 61);
  time(ReplayKind::kMalloc, 600, 100, 122);
  EXPECT_EQ(summaries().at(0).samples, 2u);
  EXPECT_EQ(summaries().at(1).samples, 1u);
}

TEST_F(LatencySummaryTest, NamesTheSlowestCall) {
  time(ReplayKind::kMalloc, 10, 100, 61);
  time(ReplayKind::kMalloc, 600, 3001, 122);
  time(ReplayKind::kMalloc, 10, 200, 183);
  EXPECT_EQ(summaries().at(0).max_ns, 1500u);
  EXPECT_EQ(summaries().at(0).max_event, 122u);
  EXPECT_EQ(summaries().at(1).max_event, 183u);
}

TEST_F(LatencySummaryTest, HasNoQuantileAboveTheSlowestCall) {
  time(ReplayKind::kMalloc, 10, 3001, 61);
  EXPECT_EQ(summaries().at(0).p50_ns, 1500u);
  EXPECT_EQ(summaries().at(0).p999_ns, 1500u);
}

TEST_F(LatencySummaryTest, HasNoSizesOfAFreeOfNothing) {
  time(ReplayKind::kFreeNull, 0, 100, 61);
  EXPECT_EQ(summaries().size(), 1u);
}

TEST_F(LatencySummaryTest, HasACallThatTookNoTime) {
  time(ReplayKind::kMalloc, 10, 0, 61);
  EXPECT_EQ(summaries().at(0).max_event, 61u);
  EXPECT_EQ(summaries().at(0).max_ns, 0u);
}

}  // namespace
}  // namespace heaptape::allocators
