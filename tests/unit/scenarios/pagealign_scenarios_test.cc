// gnulib's benchmark of pagealign_alloc and the CVS checkouts, on real glibc and on models. Numbers
// of brk pages were measured with the real code over glibc 2.36 (docs/scenarios/).
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/scenario_tapes.h"

namespace heaptape {
namespace {

using replayer::RunMetrics;
using tests::counters_of;
using tests::replay_scenario;

constexpr uint64_t kPage = 4096;

std::string set(const char* name, uint64_t value) {
  return std::string(name) + "=" + std::to_string(value);
}

// What can stand in for the malloc that was measured.
class OnMallocs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string reason = tests::not_glibc_2_36(GetParam());
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  static uint64_t bench_pages(const char* via, uint64_t batches) {
    const RunMetrics run = replay_scenario(
        "pagealign-bench", {set("batches", batches), std::string("via=") + via}, GetParam());
    return run.end.committed_bytes / kPage;
  }
};
std::string malloc_name(const testing::TestParamInfo<const char*>& malloc) {
  return malloc.index == 0 ? "Glibc" : "Model";
}
INSTANTIATE_TEST_SUITE_P(Each, OnMallocs, testing::Values("glibc", "model:ptmalloc"), malloc_name);

TEST_P(OnMallocs, TheBenchByMemalignTakesTheBrkPagesThatWereMeasured) {
  EXPECT_EQ(bench_pages("memalign", 10), 309u);
  EXPECT_EQ(bench_pages("memalign", 270), 7'565u);
  EXPECT_EQ(bench_pages("memalign", 2'430), 68'069u);
}

TEST_P(OnMallocs, TheBenchByMallocTakesTheBrkPagesThatWereMeasured) {
  EXPECT_EQ(bench_pages("malloc", 10), 304u);
  EXPECT_EQ(bench_pages("malloc", 270), 7'609u);
  EXPECT_EQ(bench_pages("malloc", 2'430), 68'400u);
}

TEST_P(OnMallocs, TheBenchByMmapTakesTheBrkPagesThatWereMeasured) {
  EXPECT_EQ(bench_pages("mmap", 10), 33u);
  EXPECT_EQ(bench_pages("mmap", 270), 33u);
  EXPECT_EQ(bench_pages("mmap", 2'430), 231u);
}

TEST_P(OnMallocs, ACheckoutOf20000PagesByMemalignTakes40017BrkPages) {
  const RunMetrics run =
      replay_scenario("cvs-pagealign", {set("bytes", 20'000 * kPage)}, GetParam());
  EXPECT_EQ(run.committed_bytes_peak.value / kPage, 40'017u);
}

// Chunks of 48 and 32 bytes per page, and the thread's cache. The top keeps 16 bytes for its
// header.
TEST_P(OnMallocs, ACheckoutByMmapUses80BytesPerPageAnd656) {
  const RunMetrics run = replay_scenario(
      "cvs-pagealign", {set("bytes", 20'000 * kPage), "via=mmap", "drain=none"}, GetParam());
  EXPECT_EQ(run.end.committed_bytes - run.end.holes.top_bytes - 16, 80u * 20'000 + 656);
}

// The models of pagealign_alloc over the model of glibc take what glibc itself takes.
class OnPtmallocBase : public testing::Test {
 protected:
  void SetUp() override {}
  // The brk pages of the base.
  static uint64_t bench_pages(const std::string& model, uint64_t batches) {
    const RunMetrics run =
        replay_scenario("pagealign-bench", {set("batches", batches)}, model + ":base=ptmalloc");
    return run.end.committed_bytes / kPage - counters_of(run)["pagesMapped"];
  }
};

TEST_F(OnPtmallocBase, TheBenchTakesThePagesOfEachBackEnd) {
  EXPECT_EQ(bench_pages("model:pagealign-memalign", 270), 7'565u);
  EXPECT_EQ(bench_pages("model:pagealign-malloc", 270), 7'609u);
  EXPECT_EQ(bench_pages("model:pagealign-list", 270), 33u);
  EXPECT_EQ(bench_pages("model:pagealign-list", 2'430), 231u);
}

TEST_F(OnPtmallocBase, ACheckoutUses80BytesPerPageAnd656) {
  const RunMetrics run =
      replay_scenario("cvs-pagealign", {set("bytes", 20'000 * kPage), "drain=none"},
                      "model:pagealign-list:base=ptmalloc");
  EXPECT_EQ(counters_of(run)["base.inUseBytes"], 80u * 20'000 + 656);
}

TEST_F(OnPtmallocBase, ACheckoutByMemalignTakes40017BrkPages) {
  const RunMetrics run = replay_scenario("cvs-pagealign", {set("bytes", 20'000 * kPage)},
                                         "model:pagealign-memalign:base=ptmalloc");
  EXPECT_EQ(run.committed_bytes_peak.value / kPage, 40'017u);
}

class CvsCheckout : public testing::Test {
 protected:
  static constexpr uint64_t kPages = 20'000;

  static std::map<std::string, uint64_t> counters(std::vector<std::string> sets) {
    sets.push_back(set("bytes", kPages * kPage));
    return counters_of(replay_scenario("cvs-pagealign", sets, "model:pagealign-list:base=runs"));
  }
};

TEST_F(CvsCheckout, SkipsHalfTheSquareOfItsPages) {
  EXPECT_EQ(counters({})["listNodesSkipped"], 199'990'000u);
}

TEST_F(CvsCheckout, SkipsNothingFromLastToFirst) {
  const auto counted = counters({"order=lifo"});
  EXPECT_EQ(counted.at("listNodesSkipped"), 0u);
  EXPECT_EQ(counted.at("listNodesVisited"), kPages);
}

// About half of what first to last skips; the list is as long.
TEST_F(CvsCheckout, InRandomOrderSkipsHalfAsMuch) {
  const uint64_t skipped = counters({"order=random"})["listNodesSkipped"];
  EXPECT_GT(skipped, 95'000'000u);
  EXPECT_LT(skipped, 105'000'000u);
}

// Each free but the last 99 finds 100 nodes.
TEST_F(CvsCheckout, InAWindowSkipsTheWindowLessOneForEachPage) {
  const uint64_t skipped = counters({"drain=window", "window=100"})["listNodesSkipped"];
  EXPECT_EQ(skipped, (kPages - 99) * 99 + 99 * 98 / 2);
}

TEST_F(CvsCheckout, FreesNothingWithoutADrain) {
  EXPECT_EQ(counters({"drain=none"})["nodeBytes"], kPages * 24);
}

TEST_F(CvsCheckout, HasAsManyBuffersAsWholePages) {
  const RunMetrics run = replay_scenario(
      "cvs-pagealign", {"bytes=100000", "page=8192", "drain=none"}, "model:pagealign-list");
  EXPECT_EQ(counters_of(run).at("mmapCalls"), 12u);
  EXPECT_EQ(counters_of(run).at("pagesMapped"), 24u);
}

class OpenbsdCheckout : public testing::Test {
 protected:
  static RunMetrics run(const std::vector<std::string>& sets) {
    return replay_scenario("openbsd-cvs", sets, "model:pagealign-list:base=runs");
  }
};

TEST_F(OpenbsdCheckout, AllocatesBuffersSixteenAtATime) {
  const RunMetrics metrics = run({set("bytes", 33 * kPage)});
  EXPECT_EQ(metrics.accounting.replayed, 6u);
  EXPECT_EQ(counters_of(metrics).at("pagesMapped"), 48u);
}

TEST_F(OpenbsdCheckout, NeverFrees) {
  const RunMetrics metrics = run({});
  EXPECT_EQ(metrics.end.live.live_count, 2u * 524'288 / 16);
  EXPECT_EQ(counters_of(metrics).at("listNodesVisited"), 0u);
}

TEST_F(OpenbsdCheckout, TakesNoMoreThanItsWindow) {
  const RunMetrics metrics = run({"drain=window", "window=100"});
  EXPECT_EQ(metrics.end.live.live_count, 2u * 7);
}

}  // namespace
}  // namespace heaptape
