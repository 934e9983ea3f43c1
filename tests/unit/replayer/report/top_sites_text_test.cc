
#include <gtest/gtest.h>

#include "replayer/report/site_stats.h"
#include "tests/support/stack_tapes.h"

namespace heaptape::replayer {
namespace {

class TopSites : public testing::Test {
 protected:
  void add(uint32_t site, const StackTotals& totals) {
    table_.rows.push_back({.site = site, .totals = totals, .median_lifetime = {}});
    table_.total += totals;
  }
  std::string text() const { return top_sites_text(table_, sites_); }

  Symbols symbols_ = tests::sample_symbols();
  Sites sites_{tests::sample_stacks(), symbols_, {}};
  SiteTable table_;
};

TEST_F(TopSites, AreNamedForEachValue) {
  add(sites_.of_stack(4), {.peak_bytes = 300, .live_bytes = 20, .temporaries = 7});
  add(sites_.of_stack(1), {.peak_bytes = 100, .freed_by_others = 1, .moved_bytes = 2048});
  EXPECT_EQ(text(), R"(holding most at the peak     bytes   share
  read (app.cc:40)           300 B   75.0%
  main (app.cc:10)           100 B   25.0%
alive at the end             bytes   share
  read (app.cc:40)            20 B  100.0%
temporaries                 blocks   share
  read (app.cc:40)               7  100.0%
freed by another thread     blocks   share
  main (app.cc:10)               1  100.0%
copied by resizes            bytes   share
  main (app.cc:10)        2.00 KiB  100.0%
)");
}

TEST_F(TopSites, AreSaidToBeEstimates) {
  add(sites_.of_stack(4), {.peak_bytes = 300});
  table_.sampled.emplace();
  EXPECT_TRUE(
      text().ends_with("\ncall sites are estimates: not all calls had their stacks recorded\n"))
      << text();
}

TEST_F(TopSites, AreThreeAtMost) {
  for (uint64_t i = 0; i < 4; ++i) add(0, {.peak_bytes = 10 + i});
  EXPECT_EQ(text().find("10 B"), std::string::npos);
  EXPECT_NE(text().find("11 B"), std::string::npos);
}

TEST_F(TopSites, AreNotNamedWhereThereIsNothing) {
  EXPECT_EQ(text(), "");
  add(0, {.calls = 1});
  EXPECT_EQ(text(), "");
}

}  // namespace
}  // namespace heaptape::replayer
