#include "replayer/sites/sites.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

using schema::Frame;

CodePlace line(const std::string& function, uint32_t number = 1) {
  return {"/opt/app", number, {{function, "app.cc", number}}};
}

class SitesOfStacks : public testing::Test {
 protected:
  // Each frame: its caller, and its place.
  void of(const std::vector<std::pair<schema::FrameNumber, CodePlace>>& frames,
          const SiteRules& rules = {}) {
    schema::Stacks stacks;
    std::vector<CodePlace> places{{}};
    std::vector<uint32_t> place_of_frame{0};
    std::vector<Frame> list;
    for (const auto& [caller, place] : frames) {
      list.push_back({caller, 1000 + list.size()});
      place_of_frame.push_back(static_cast<uint32_t>(places.size()));
      places.push_back(place);
    }
    stacks.add_frames(0, list);
    symbols_ = Symbols(places, place_of_frame);
    sites_.emplace(stacks, symbols_, rules);
  }
  std::string site_of(schema::FrameNumber stack) { return sites_->text(sites_->of_stack(stack)); }
  SiteRules hiding(const std::string& pattern) { return *SiteRules::make({.hide = {pattern}}); }

  Symbols symbols_;
  std::optional<Sites> sites_;
};

TEST_F(SitesOfStacks, AreInnermostFrames) {
  of({{0, line("main")}, {1, line("parse", 7)}});
  EXPECT_EQ(site_of(2), "parse (app.cc:7)");
  EXPECT_EQ(site_of(1), "main (app.cc:1)");
}

TEST_F(SitesOfStacks, AreWhoCalledTheWrappers) {
  of({{0, line("main")},
      {1, line("parse")},
      {2, line("std::vector<int>::push_back(int)")},
      {3, line("operator new(unsigned long)")}});
  EXPECT_EQ(site_of(4), "parse (app.cc:1)");
}

TEST_F(SitesOfStacks, AreNotUnnamedPartsOfAllocationFunctions) {
  const CodePlace unnamed{"/opt/app", 9, {}};
  of({{0, line("main")}, {1, line("sqlite3Malloc")}, {2, unnamed}, {3, unnamed}});
  EXPECT_EQ(site_of(4), "main (app.cc:1)");
  of({{0, line("main")}, {1, line("std::sort(int*)")}, {2, unnamed}});
  EXPECT_EQ(site_of(3), "app+0x9");
  of({{0, line("main")}, {1, line("malloc")}, {2, {"/opt/plugin.so", 9, {}}}});
  EXPECT_EQ(site_of(3), "plugin.so+0x9");
}

TEST_F(SitesOfStacks, AreInInlinedFunctions) {
  of({{0, {"/opt/app", 9, {{"std::move(int)", "a.h", 1}, {"inner", "a.h", 2}, {"outer", "", 0}}}}});
  EXPECT_EQ(site_of(1), "inner (a.h:2)");
}

TEST_F(SitesOfStacks, AreInnermostFramesWhereAllAreWrappers) {
  of({{0, line("xmalloc", 3)}, {1, line("malloc", 4)}});
  EXPECT_EQ(site_of(2), "malloc (app.cc:4)");
}

TEST_F(SitesOfStacks, AreNeverHidden) {
  of({{0, line("main")}, {1, line("make_node")}}, hiding("make_"));
  EXPECT_EQ(site_of(2), "main (app.cc:1)");
  of({{0, line("malloc")}, {1, line("make_node")}}, hiding("make_"));
  EXPECT_EQ(site_of(2), "malloc (app.cc:1)");
}

TEST_F(SitesOfStacks, SayThatAllIsHidden) {
  of({{0, line("make_node")}, {1, line("make_leaf")}}, hiding("make_"));
  EXPECT_EQ(site_of(2), "(hidden)");
  EXPECT_EQ(site_of(1), "(hidden)");
  EXPECT_EQ(site_of(0), "(no stack)");
  EXPECT_EQ(sites_->short_text(sites_->of_stack(2)), "(hidden)");
}

TEST_F(SitesOfStacks, AreInitialisersThatTheLoaderCalled) {
  const CodePlace loader{"/lib64/ld-linux-x86-64.so.2", 5, {{"call_init", "dl-init.c", 74}}};
  const CodePlace library{"/usr/lib/libstdc++.so.6", 0xa5, {}};
  of({{0, loader}, {1, loader}, {2, library}, {3, library}});
  EXPECT_EQ(site_of(4), "libstdc++.so.6+0xa5 (initializer)");
  EXPECT_EQ(sites_->short_text(sites_->of_stack(4)), "libstdc++.so.6+0xa5 (initializer)");
  EXPECT_EQ(site_of(2), "call_init (dl-init.c:74)");
  of({{0, loader}, {1, line("app_start")}, {2, library}});
  EXPECT_EQ(site_of(3), "app_start (app.cc:1)");
  of({{0, loader}, {1, library}, {2, line("app_start")}});
  EXPECT_EQ(site_of(3), "app_start (app.cc:1)");
  of({{0, loader}, {1, library}}, hiding("libstdc"));
  EXPECT_EQ(site_of(2), "call_init (dl-init.c:74)");
}

TEST_F(SitesOfStacks, AreOneForAllCallsInALine) {
  of({{0, {"/opt/app", 10, {{"main", "a.c", 5}}}},
      {0, {"/opt/app", 20, {{"main", "a.c", 5}}}},
      {0, {"/opt/app", 30, {{"main", "a.c", 6}}}}});
  EXPECT_EQ(sites_->of_stack(1), sites_->of_stack(2));
  EXPECT_NE(sites_->of_stack(1), sites_->of_stack(3));
}

TEST_F(SitesOfStacks, ArePlacesInModulesWithoutSource) {
  of({{0, {"/opt/app", 10, {}}}, {0, {"/opt/app", 20, {}}}});
  EXPECT_EQ(site_of(1), "app+0xa");
  EXPECT_EQ(site_of(2), "app+0x14");
}

TEST_F(SitesOfStacks, AreOthersInAnotherModule) {
  of({{0, {"/opt/app", 10, {}}}, {0, {"/opt/plugin.so", 10, {}}}});
  EXPECT_NE(sites_->of_stack(1), sites_->of_stack(2));
  const std::vector<SourceFrame> init{{"init", "a.c", 5}};
  of({{0, {"/opt/app", 10, init}}, {0, {"/opt/plugin.so", 10, init}}});
  EXPECT_NE(sites_->of_stack(1), sites_->of_stack(2));
}

TEST_F(SitesOfStacks, AreUnknownWhereNothingIsKnown) {
  of({{0, {}}, {1, line("malloc")}, {1, line("parse")}});
  EXPECT_EQ(site_of(0), "(no stack)");
  EXPECT_EQ(site_of(1), "(no stack)");  // cut at once
  EXPECT_EQ(site_of(2), "malloc (app.cc:1)");
  EXPECT_EQ(site_of(3), "parse (app.cc:1)");
  EXPECT_EQ(site_of(99), "(no stack)");
}

TEST_F(SitesOfStacks, AreShownIfTheyMatch) {
  of({{0, line("main")}, {1, line("parse")}}, *SiteRules::make({.only = "site~parse"}));
  EXPECT_TRUE(sites_->list()[sites_->of_stack(2)].is_shown);
  EXPECT_FALSE(sites_->list()[sites_->of_stack(1)].is_shown);
  EXPECT_FALSE(sites_->list()[Sites::kNone].is_shown);
}

}  // namespace
}  // namespace heaptape::replayer
