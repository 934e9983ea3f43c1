#include "base/display_text.h"

#include <gtest/gtest.h>

namespace heaptape::base {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD

TEST(ValidUtf8, KeepsUtf8AsItIs) {
  EXPECT_EQ(valid_utf8("a\n\xe2\x82\xac\xf0\x9f\x98\x80"), "a\n\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(ValidUtf8, ReplacesBytesOfAnotherEncoding) {
  EXPECT_EQ(valid_utf8("caf\xe9!"), std::string("caf") + kReplacement + "!");
}

TEST(ValidUtf8, ReplacesSurrogates) {
  EXPECT_EQ(valid_utf8("a\xed\xa0\x80z"), std::string("a") + kReplacement + "z");
}

TEST(DisplayText, ReplacesControlCharacters) {
  EXPECT_EQ(display_text("a\x1b[2J\nz"),
            std::string("a") + kReplacement + "[2J" + kReplacement + "z");
}

TEST(DisplayText, ReplacesTheEightBitControlCharacters) {
  EXPECT_EQ(display_text("\xc2\x9b"), kReplacement);
}

TEST(DisplayText, ReplacesNul) {
  EXPECT_EQ(display_text(std::string("a\0z", 3)), std::string("a") + kReplacement + "z");
}

TEST(DisplayText, KeepsLettersOfOtherScripts) {
  EXPECT_EQ(display_text("\xd0\x96\xc3\xa9"), "\xd0\x96\xc3\xa9");
}

TEST(JsonString, EscapesWhatJsonAsksFor) {
  EXPECT_EQ(json_string("a\"b\\c\nd\x1f"), R"("a\"b\\c\u000ad\u001f")");
  EXPECT_EQ(json_string("\xff"), "\"\uFFFD\"");
  EXPECT_EQ(json_string("\u00e9"), "\"\u00e9\"");
}

}  // namespace
}  // namespace heaptape::base
