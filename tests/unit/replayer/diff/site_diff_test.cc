#include "replayer/diff/site_diff.h"

#include <gtest/gtest.h>

#include "replayer/diff/diff_format.h"
#include "replayer/diff/diff_table.h"
#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using schema::CallSite;
using schema::SiteFigures;

// Of the bytes at the peak alone.
CallSite site(const std::string& function, uint32_t line, uint64_t peak_bytes,
              const std::string& file = "/src/a.cc") {
  const std::string text = function + " (a.cc:" + std::to_string(line) + ")";
  return {text, function, file, line, "/opt/app", {.peak = peak_bytes}};
}
CallSite place(const std::string& module, const std::string& offset, uint64_t peak_bytes) {
  return {"lib.so+" + offset, "", "", 0, module, {.peak = peak_bytes}};
}
SiteFigures sites(std::vector<CallSite> list) {
  SiteFigures figures{{}, std::move(list)};
  for (const CallSite& one : figures.list) figures.total.peak += one.bytes.peak;
  return figures;
}
SiteChanges peak_changes(std::vector<CallSite> base, std::vector<CallSite> now) {
  const auto all = diff_sites(sites(std::move(base)), sites(std::move(now)));
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? SiteChanges() : all.front();
}

TEST(SiteDiff, RanksSitesByTheirShares) {
  const SiteChanges changes =
      peak_changes({site("a", 1, 100), site("b", 2, 100)}, {site("a", 1, 120), site("b", 2, 180)});
  ASSERT_EQ(changes.sites.size(), 2u);
  EXPECT_EQ(changes.name, "peakBytes");
  EXPECT_EQ(changes.sites[0].place.function, "b");
  EXPECT_EQ(changes.sites[0].share(changes.base, changes.now), 0.8);
  EXPECT_EQ(changes.sites[1].share(changes.base, changes.now), 0.2);
}

TEST(SiteDiff, HasNegativeSharesOfWhatChangedTheOtherWay) {
  const SiteChanges changes =
      peak_changes({site("a", 1, 100), site("b", 2, 100)}, {site("a", 1, 50), site("b", 2, 250)});
  EXPECT_EQ(changes.sites[0].share(changes.base, changes.now), 1.5);
  EXPECT_EQ(changes.sites[1].share(changes.base, changes.now), -0.5);
}

TEST(SiteDiff, PutsWhatShrankFirstWhereTheWholeShrank) {
  const SiteChanges changes =
      peak_changes({site("a", 1, 100), site("b", 2, 100)}, {site("a", 1, 110), site("b", 2, 20)});
  EXPECT_EQ(changes.sites[0].place.function, "b");
  EXPECT_GT(changes.sites[0].share(changes.base, changes.now), 1);
}

TEST(SiteDiff, LeavesOutWhatDidNotChange) {
  const SiteFigures same = sites({site("a", 1, 100)});
  EXPECT_TRUE(diff_sites(same, same).empty());
  EXPECT_EQ(peak_changes({site("a", 1, 100)}, {site("a", 1, 100), site("b", 2, 1)}).sites.size(),
            1u);
}

TEST(SiteDiff, MatchesFunctionsOfWhichOneReportHasNoFile) {
  const SiteChanges changes = peak_changes({site("a", 0, 100, ""), site("b", 0, 100, "")},
                                           {site("a", 7, 100), site("b", 9, 150)});
  ASSERT_EQ(changes.sites.size(), 1u);
  EXPECT_EQ(changes.sites[0].place.function, "b");
  EXPECT_EQ(changes.sites[0].place.line, 9u);
}

TEST(SiteDiff, FindsAModuleOfWhichOneReportKnowsNoFunctions) {
  const SiteFigures known = sites({site("a", 1, 100)});
  const SiteFigures unknown = sites({place("/opt/app", "0x12", 100)});
  EXPECT_EQ(module_known_once(known, unknown), "app");
  EXPECT_EQ(module_known_once(unknown, known), "app");
  EXPECT_EQ(module_known_once(known, known), "");
  EXPECT_EQ(module_known_once(unknown, unknown), "");
  EXPECT_EQ(module_known_once(known, sites({site("a", 1, 9), place("/opt/app", "0x12", 1)})), "");
}

TEST(SiteDiff, TellsTheNumbersApart) {
  SiteFigures base;
  SiteFigures now;
  now.total.end = 7;
  now.list = {site("a", 1, 0)};
  now.list[0].bytes.end = 7;
  const auto all = diff_sites(base, now);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "liveBytes");
}

TEST(SiteDiff, FollowsAFunctionToOtherLinesAndFolders) {
  const SiteChanges changes =
      peak_changes({site("a", 10, 100)}, {site("a", 17, 130, "/branch/src/a.cc")});
  ASSERT_EQ(changes.sites.size(), 1u);
  EXPECT_EQ(changes.sites[0].base, 100u);
  EXPECT_EQ(changes.sites[0].place.line, 17u);
}

TEST(SiteDiff, TellsFunctionsOfOneNameInTwoFilesApart) {
  EXPECT_EQ(peak_changes({site("a", 1, 100)}, {site("a", 1, 130, "/src/b.cc")}).sites.size(), 2u);
}

TEST(SiteDiff, TellsOverloadsApartInItsTable) {
  const auto table =
      diff_table(peak_changes({}, {site("a(int)", 1, 130), site("a(char)", 1, 120)}));
  EXPECT_EQ(table.at(1).at(0), "a(int) (a.cc:1)");
  EXPECT_EQ(table.at(2).at(0), "a(char) (a.cc:1)");
}

TEST(SiteDiff, NamesTheLineThatIsNew) {
  const SiteChanges changes =
      peak_changes({site("a", 10, 1000)}, {site("a", 10, 1001), site("a", 20, 50)});
  EXPECT_EQ(changes.sites[0].place.line, 20u);
  EXPECT_EQ(changes.sites[0].now, 1051u);
}

TEST(SiteDiff, NamesTheLineThatGrewThoughAllHaveMoved) {
  const SiteChanges changes = peak_changes({site("a", 10, 1000), site("a", 20, 50)},
                                           {site("a", 23, 90), site("a", 13, 1000)});
  EXPECT_EQ(changes.sites[0].place.line, 23u);
}

TEST(SiteDiff, NamesTheLineThatShrankMostWhereTheWholeShrank) {
  const SiteChanges changes = peak_changes({site("a", 10, 1000), site("a", 20, 500)},
                                           {site("a", 10, 1010), site("a", 20, 100)});
  EXPECT_EQ(changes.sites[0].place.line, 20u);
}

TEST(SiteDiff, NamesTheLineOfTheBaseWhereTheFunctionIsGone) {
  const SiteChanges changes = peak_changes({site("a", 10, 100), site("a", 20, 200)}, {});
  EXPECT_EQ(changes.sites[0].place.line, 20u);
  EXPECT_EQ(changes.sites[0].now, 0u);
}

TEST(SiteDiff, SumsTheModuleWhereFunctionsAreUnknown) {
  const SiteChanges changes =
      peak_changes({place("/a/lib.so", "0x10", 100)},
                   {place("/b/lib.so", "0x20", 50), place("/b/lib.so", "0x30", 70)});
  ASSERT_EQ(changes.sites.size(), 1u);
  EXPECT_EQ(changes.sites[0].now, 120u);
  EXPECT_EQ(short_text(changes.sites[0].place), "lib.so (functions unknown)");
}

TEST(SiteDiff, NamesNobodyForWhatNoListedSiteChanged) {
  SiteFigures base = sites({site("a", 1, 100)});
  SiteFigures now = sites({site("a", 1, 90)});
  now.total.peak = 500;
  EXPECT_EQ(culprit_text(diff_sites(base, now).front()), "");
}

// Within two standard errors the change may be none.
TEST(SiteDiff, NamesNobodyForAChangeWithinItsError) {
  SiteChanges changes = peak_changes({site("a", 1, 100)}, {site("a", 1, 200)});
  changes.sites[0].base_error = 30;
  changes.sites[0].now_error = 40;
  EXPECT_EQ(culprit_text(changes), "a (a.cc:1) has 100 B +- 50 more at the peak");
  changes.sites[0].now_error = 41;
  EXPECT_EQ(culprit_text(changes), "");
}

// The diff of reports in which a() grew from 100 to 400 bytes and b() shrank from 100 to 0.
ReportDiff site_sample_diff(const char* gate) {
  const auto run = [](uint64_t bytes) {
    return tests::run_figures("glibc",
                              {{"peak.committedBytes", bytes}, {"time.nsPerEvent", bytes}});
  };
  auto base = tests::named_report("main.json", {run(4096)});
  auto now = tests::named_report("branch.json", {run(8192)});
  base.figures.sites = sites({site("a", 1, 100), site("b", 2, 100), site("c", 3, 50)});
  now.figures.sites = sites({site("a", 5, 400), site("c", 3, 50)});
  return *diff_reports(base, now, {*parse_gate(gate)}, "");
}

TEST(SiteDiff, IsATableForPeople) {
  const std::string text = to_text(site_sample_diff("peak.committedBytes>+5%"));
  EXPECT_NE(text.find(R"(
sites that account for the change of bytes at the peak
  site         base    new  change
  a (a.cc:5)  100 B  400 B  +300 B
  b (a.cc:2)  100 B    0 B  -100 B
  (others)     50 B   50 B       0
  total       250 B  450 B  +200 B
)"),
            std::string::npos)
      << text;
}

TEST(SiteDiff, IsATableForPullRequests) {
  const std::string text = to_markdown(site_sample_diff("peak.committedBytes>+5%"));
  EXPECT_NE(
      text.find(
          "<details><summary>Sites that account for the change of bytes at the peak</summary>\n\n"
          "| site | base | new | change |\n"),
      std::string::npos);
  EXPECT_NE(text.find("\n| a (a.cc:5) | 100 B | 400 B | +300 B |\n"), std::string::npos);
}

TEST(SiteDiff, IsWholeInJson) {
  const std::string json = *to_json(site_sample_diff("peak.committedBytes>+5%"));
  EXPECT_NE(json.find(R"("metric": "peakBytes",)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"x("site": "b (a.cc:2)",)x"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("base": 100, "new": 0, "shareOfChange": -0.5)"), std::string::npos)
      << json;
}

TEST(SiteDiff, IsNamedByAFailedGateInJunit) {
  EXPECT_NE(to_junit(site_sample_diff("peak.committedBytes>+5%"))
                .find("; a (a.cc:5) has 300 B more at the peak, all other sites 100 B less\">"),
            std::string::npos);
}

TEST(SiteDiff, SaysNothingOfTimes) {
  EXPECT_EQ(to_junit(site_sample_diff("time.nsPerEvent>+5%")).find("a.cc:5"), std::string::npos);
}

TEST(SiteDiff, ShowsTenSitesAndTheRest) {
  SiteFigures now;
  for (uint32_t i = 0; i < 12; ++i) now.list.push_back(site("f" + std::to_string(i), i, 100 - i));
  ReportDiff diff;
  diff.sites = diff_sites({}, sites(now.list));
  const std::string text = to_text(diff);
  EXPECT_NE(text.find("\n  f9 (a.cc:9) "), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  f10 "), std::string::npos);
  EXPECT_NE(text.find("\n  (others)  "), std::string::npos);
}

TEST(SiteDiff, NotesThatOneReportHasNoSites) {
  const auto base = tests::named_report("a.json", {tests::run_figures("x")});
  auto now = base;
  now.figures.sites = sites({site("a", 1, 100)});
  const ReportDiff diff = *diff_reports(base, now, {}, "");
  EXPECT_TRUE(diff.sites.empty());
  ASSERT_EQ(diff.notes.size(), 1u);
  EXPECT_TRUE(diff.notes[0].starts_with("only new has call sites: "));
}

TEST(SiteDiff, SaysWhereSitesAreEstimates) {
  auto base = tests::named_report("a.json", {tests::run_figures("x")});
  base.figures.sites = sites({site("a", 1, 100)});
  auto now = base;
  now.figures.sites->is_sampled = true;
  EXPECT_EQ(diff_reports(base, now, {}, "")->notes,
            std::vector<std::string>{
                "the call sites of new are estimates: not all calls had their stacks recorded"});
  EXPECT_EQ(diff_reports(now, now, {}, "")->notes,
            std::vector<std::string>{
                "the call sites are estimates: not all calls had their stacks recorded"});
  EXPECT_TRUE(diff_reports(base, base, {}, "")->notes.empty());
}

}  // namespace
}  // namespace heaptape::replayer
