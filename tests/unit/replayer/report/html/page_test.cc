#include "replayer/report/html/page.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "replayer/report/html/page_parts.h"

namespace heaptape::replayer {
namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST(HtmlPage, EscapesItsTitle) {
  const std::string page = html_page("</title><script>&\"'\xff", "{}", "");
  EXPECT_NE(page.find("<title>&lt;/title&gt;&lt;script&gt;&amp;&quot;&#39;\uFFFD</title>"),
            std::string::npos);
}

TEST(HtmlPage, HasItsDataOnce) {
  const std::string page = html_page("a", "{\"mark\":\"@STYLES@ @SCRIPTS@ @DATA@ @TITLE@\"}", "");
  EXPECT_EQ(count_of(page, "{\"mark\":\"@STYLES@ @SCRIPTS@ @DATA@ @TITLE@\"}</script>"), 1u);
  EXPECT_EQ(count_of(page, "<title>"), 1u);
}

TEST(HtmlPage, HasNoMarkLeft) {
  const std::string page = html_page("@DATA@@SCRIPTS@", "{}", "");
  EXPECT_EQ(count_of(page, "<title>@DATA@@SCRIPTS@</title>"), 1u);
  for (const char* mark : {"@POLICY@", "@NOTICES@", "@TITLE@", "@STYLES@"}) {
    EXPECT_EQ(count_of(page, mark), 0u) << mark;
  }
}

TEST(HtmlPage, NamesNoOtherFile) {
  const std::string page = html_page("a", "{}", "");
  for (const char* reference : {" src=", "href=", "url(", "@import", "sourceMappingURL"}) {
    EXPECT_EQ(count_of(page, reference), 0u) << reference;
  }
}

TEST(HtmlPage, HasTheTermsOfOthersCode) {
  EXPECT_NE(html_page("a", "{}", "").find("The above copyright notice"), std::string::npos);
}

TEST(HtmlPage, AllowsItsScriptsByTheirHashes) {
  const std::string page = html_page("a", "{}", "");
  for (const PagePart& part : page_scripts()) {
    EXPECT_EQ(part.sha256.size(), 44u) << part.name;
    EXPECT_EQ(count_of(page, "'sha256-" + std::string(part.sha256) + "'"), 1u) << part.name;
  }
  EXPECT_EQ(count_of(page, "unsafe"), 0u);
}

}  // namespace
}  // namespace heaptape::replayer
