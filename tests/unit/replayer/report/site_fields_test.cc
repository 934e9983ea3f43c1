#include "replayer/report/site_fields.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "schema/report/report_figures.h"
#include "schema/report/report_json.h"

namespace heaptape::replayer {
namespace {

// A thousand sites: "f1", "f2", ...
class SiteFields : public testing::Test {
 protected:
  static constexpr uint32_t kSites = 1000;

  static Symbols symbols() {
    std::vector<CodePlace> places(1);
    for (uint32_t i = 1; i <= kSites; ++i) {
      places.push_back({"/opt/app", i, {{"f" + std::to_string(i), "/src/a.cc", i}}});
    }
    std::vector<uint32_t> numbers(kSites + 1);
    std::iota(numbers.begin(), numbers.end(), 0u);
    return {std::move(places), std::move(numbers)};
  }
  static schema::Stacks stacks() {
    std::vector<schema::Frame> frames;
    for (uint32_t i = 1; i <= kSites; ++i) frames.push_back({0, 0x1000 + i});
    schema::Stacks all;
    all.add_frames(0, frames);
    return all;
  }
  void add(uint32_t site, const StackTotals& totals) {
    table_.rows.push_back({.site = site, .totals = totals, .blocks = 1, .median_lifetime = 2});
    table_.total += totals;
  }
  schema::wire::TapeSites::Reader written() {
    auto out = message_->initRoot<schema::wire::Report>().initTape().initSites();
    set_tape_sites(out, table_, sites_);
    return out.asReader();
  }

  Symbols symbols_ = symbols();
  Sites sites_{stacks(), symbols_, {}};
  SiteTable table_;
  const std::unique_ptr<capnp::MallocMessageBuilder> message_ =
      std::make_unique<capnp::MallocMessageBuilder>();  // its destructor may throw, ours may not
};

TEST_F(SiteFields, SayWhereASiteIsAndWhatItHas) {
  add(3, {.calls = 5, .asked_bytes = 50, .peak_bytes = 40, .live_bytes = 30, .temporaries = 2});
  const auto site = written().getList()[0];
  EXPECT_EQ(site.getSite(), "f3 (a.cc:3)");
  EXPECT_EQ(site.getFunction(), "f3");
  EXPECT_EQ(site.getLine(), 3u);
  EXPECT_EQ(site.getTotals().getPeakBytes(), 40u);
  EXPECT_EQ(site.getTotals().getTemporaries(), 2u);
  EXPECT_EQ(site.getLifetimes().getMedian(), 2u);
}

TEST_F(SiteFields, HaveEachTotalUnderItsName) {
  add(1, {.calls = 1,
          .asked_bytes = 2,
          .peak_bytes = 3,
          .peak_count = 4,
          .live_bytes = 5,
          .live_count = 6,
          .temporaries = 7,
          .freed_by_others = 8,
          .moved_bytes = 9});
  const auto totals = written().getTotal();
  EXPECT_EQ(totals.getCalls(), 1u);
  EXPECT_EQ(totals.getAskedBytes(), 2u);
  EXPECT_EQ(totals.getPeakBytes(), 3u);
  EXPECT_EQ(totals.getPeakCount(), 4u);
  EXPECT_EQ(totals.getLiveBytes(), 5u);
  EXPECT_EQ(totals.getLiveCount(), 6u);
  EXPECT_EQ(totals.getTemporaries(), 7u);
  EXPECT_EQ(totals.getFreedByOthers(), 8u);
  EXPECT_EQ(totals.getMovedBytes(), 9u);
}

TEST_F(SiteFields, ListTheGreatestByEachValue) {
  for (uint32_t i = 1; i <= kSites; ++i) {
    add(i, {.calls = 1, .asked_bytes = i == 900 ? 1u : 0u, .peak_bytes = kSites - i});
  }
  const auto list = written().getList();
  ASSERT_EQ(list.size(), 201u);
  EXPECT_EQ(list[199].getFunction(), "f200");
  EXPECT_EQ(list[200].getFunction(), "f900");
}

TEST_F(SiteFields, ListTheGreatestByWhatStatsNames) {
  const StackTotals kinds[] = {{.calls = 1, .temporaries = 1},
                               {.calls = 1, .freed_by_others = 1},
                               {.calls = 1, .moved_bytes = 1},
                               {.calls = 1, .live_bytes = 1},
                               {.calls = 1, .peak_bytes = 1}};
  for (uint32_t i = 1; i < 700; ++i) add(i, {.calls = 1, .asked_bytes = 1});
  for (uint32_t i = 0; i < std::size(kinds); ++i) add(700 + i, kinds[i]);
  std::string listed;
  for (const auto site : written().getList()) listed += std::string(site.getFunction()) + " ";
  EXPECT_NE(listed.find("f700 f701 f702 f703 f704 "), std::string::npos) << listed;
}

TEST_F(SiteFields, AddUpWithTheOthers) {
  for (uint32_t i = 1; i <= kSites; ++i) add(i, {.calls = 1, .peak_bytes = i});
  table_.left_out.calls = 7;
  const auto sites = written();
  uint64_t listed = 0;
  for (const auto site : sites.getList()) listed += site.getTotals().getPeakBytes();
  EXPECT_EQ(listed + sites.getOthers().getPeakBytes(), sites.getTotal().getPeakBytes());
  EXPECT_EQ(sites.getOthers().getCalls(), kSites - sites.getList().size() + 7);
}

TEST_F(SiteFields, AreReadBackFromAReport) {
  add(3, {.calls = 5, .asked_bytes = 50, .peak_bytes = 40, .live_bytes = 30});
  written();
  message_->getRoot<schema::wire::Report>().setVersion(schema::wire::REPORT_VERSION);
  const auto json = schema::to_json(message_->getRoot<schema::wire::Report>().asReader());
  const auto report = schema::parse_report("a.json", *json);
  const auto figures = schema::figures_of(*report);
  ASSERT_TRUE(figures.sites.has_value());
  EXPECT_EQ(figures.sites->total.asked, 50u);
  EXPECT_EQ(figures.sites->list.at(0).text, "f3 (a.cc:3)");
  EXPECT_EQ(figures.sites->list[0].bytes.end, 30u);
}

TEST_F(SiteFields, AreRefusedInNumbersThatNoReportHas) {
  auto report = message_->initRoot<schema::wire::Report>();
  report.setVersion(schema::wire::REPORT_VERSION);
  report.initTape().initSites().initList(10'001);
  const auto parsed = schema::parse_report("a.json", *schema::to_json(report.asReader()));
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().message.find("more than 10000 call sites"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::replayer
