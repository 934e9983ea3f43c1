#include "replayer/sites/site_names.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

using Texts = std::vector<std::string>;

// Of places with one line each.
Texts names_of(const std::vector<CodePlace>& places) {
  std::vector<Site> sites{{}};
  for (const CodePlace& place : places) sites.push_back({&place, &place.source.front()});
  Texts names = site_names(sites);
  EXPECT_EQ(names.front(), "");
  names.erase(names.begin());
  return names;
}

CodePlace in_app(const std::string& function, const std::string& file = "", uint32_t line = 0) {
  return {"/opt/app", 16, {{function, file, line}}};
}

TEST(SiteNames, AreShortWhereNoOtherSiteHasThem) {
  EXPECT_EQ(names_of({in_app("lex(int)"), in_app("parse(int)"), in_app("parse(int)", "a.cc", 3)}),
            (Texts{"lex", "parse", "parse (a.cc:3)"}));
}

TEST(SiteNames, HaveParametersWhereFunctionsAreOverloaded) {
  EXPECT_EQ(names_of({in_app("parse(int)"), in_app("parse(char const*)")}),
            (Texts{"parse(int)", "parse(char const*)"}));
}

TEST(SiteNames, HaveThePartByWhichLongFunctionsDiffer) {
  const std::string head = "app::Map<" + std::string(100, 'k') + ", ";
  EXPECT_EQ(
      names_of({in_app(head + "app::Alpha>::insert(int)"), in_app(head + "app::Beta>::insert(int)"),
                in_app(head + "app::Beta>::insert(int, std::less<app::Beta> const&, bool)")}),
      (Texts{"app::Map<...>::insert [...Alpha>::insert(int)]", "app::Map<...>::insert [...int)]",
             "app::Map<...>::insert [...int, std::less<app::Beta> const&, bool)]"}));
}

TEST(SiteNames, HaveTheModuleOfFunctionsThatSeveralHave) {
  EXPECT_EQ(names_of({{"/lib/a.so", 1, {{"init", "", 0}}}, {"/lib/b.so", 1, {{"init", "", 0}}}}),
            (Texts{"init in a.so", "init in b.so"}));
  EXPECT_EQ(names_of({{"/x/a.so", 1, {{"init", "", 0}}}, {"/y/a.so", 1, {{"init", "", 0}}}}),
            (Texts{"init in /x/a.so", "init in /y/a.so"}));
}

TEST(SiteNames, HaveTheWholePathOfFilesOfOneName) {
  EXPECT_EQ(names_of({in_app("init", "/src/a/util.c", 3), in_app("init", "/src/b/util.c", 3)}),
            (Texts{"init (/src/a/util.c:3)", "init (/src/b/util.c:3)"}));
}

TEST(SiteNames, HaveTheOffsetWhereNothingElseDiffers) {
  CodePlace other = in_app("init", "", 8);
  other.offset = 32;
  EXPECT_EQ(names_of({in_app("init", "", 7), other}), (Texts{"init at 0x10", "init at 0x20"}));
}

}  // namespace
}  // namespace heaptape::replayer
