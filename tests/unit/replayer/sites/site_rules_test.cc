#include "replayer/sites/site_rules.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

const SourceFrame kSource{"app::parse(int)", "/src/app/parser.cc", 12};
const CodePlace kAnyPlace{"/opt/libapp.so", 0x1a2b, {kSource}};

SiteRules rules(const SiteFilters& filters) {
  auto rules = SiteRules::make(filters);
  EXPECT_TRUE(rules.ok());
  return *rules;
}
std::string refusal(const SiteFilters& filters) {
  const auto rules = SiteRules::make(filters);
  return rules.ok() ? "none" : rules.error().message;
}

TEST(SiteRules, HideNothingAndShowAllByThemselves) {
  EXPECT_FALSE(SiteRules().hides(kAnyPlace, &kSource));
  EXPECT_TRUE(SiteRules().shows("(no stack)"));
}

TEST(SiteRules, HideFunctionsAndModules) {
  EXPECT_TRUE(rules({.hide = {"nothing", "::parse"}}).hides(kAnyPlace, &kSource));
  EXPECT_TRUE(rules({.hide = {"libapp\\.so$"}}).hides(kAnyPlace, nullptr));
  EXPECT_TRUE(rules({.hide = {"\\+0x1a2b"}}).hides(kAnyPlace, nullptr));
  EXPECT_FALSE(rules({.hide = {"^parse"}}).hides(kAnyPlace, &kSource));
}

TEST(SiteRules, ShowOnlySitesThatMatch) {
  for (const char* only : {"site~parse", "site~src/app/.*:12", "site~libapp"}) {
    EXPECT_TRUE(rules({.only = only}).shows(kAnyPlace, &kSource)) << only;
  }
  EXPECT_FALSE(rules({.only = "site~other"}).shows(kAnyPlace, &kSource));
  EXPECT_FALSE(rules({.only = "site~parse"}).shows("(no stack)"));
}

TEST(SiteRules, ShowSitesByTheTextThatIsPrinted) {
  for (const char* only :
       {"site~^app::parse \\(parser\\.cc:12\\)$", "site~^app::parse\\(int\\) \\(parser\\.cc:12\\)$",
        "site~^app::parse\\(int\\) \\(/src/app/parser\\.cc:12\\)$"}) {
    EXPECT_TRUE(rules({.only = only}).shows(kAnyPlace, &kSource)) << only;
  }
  EXPECT_TRUE(rules({.only = "site~no stack"}).shows("(no stack)"));
}

TEST(SiteRules, RefuseWhatIsNoRegularExpression) {
  EXPECT_NE(refusal({.hide = {"a("}}).find("'a(' is not a regular expression"), std::string::npos);
  EXPECT_NE(refusal({.only = "site~["}).find("'[' is not a regular"), std::string::npos);
  EXPECT_NE(refusal({.hide = {""}}).find("it is empty"), std::string::npos);
  EXPECT_NE(refusal({.hide = {std::string(2000, 'a')}}).find("too long"), std::string::npos);
}

TEST(SiteRules, RefuseAFilterWithoutItsWord) {
  EXPECT_NE(refusal({.only = "parse"}).find("type site~REGEX"), std::string::npos);
}

TEST(SiteRules, SurviveNamesOfAnyLength) {
  const SourceFrame source{std::string(1 << 20, 'a'), "", 0};
  EXPECT_FALSE(rules({.hide = {"(a|b)*c"}}).hides(kAnyPlace, &source));
}

}  // namespace
}  // namespace heaptape::replayer
