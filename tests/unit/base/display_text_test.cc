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

TEST(CommandText, CanBeGivenToAShell) {
  EXPECT_EQ(command_text({"a", "", "b c", "it's", "d"}), R"(a '' 'b c' 'it'\''s' d)");
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

TEST(DisplayText, ReplacesWhatTurnsTheDirectionOfText) {
  for (const char* mark : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                           "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    EXPECT_EQ(display_text(std::string("a") + mark + "z"), std::string("a") + kReplacement + "z");
    EXPECT_EQ(undirected(std::string("a\n") + mark), std::string("a\n") + kReplacement);
  }
}

TEST(DisplayText, ReplacesWhatEndsLinesAndParagraphs) {
  EXPECT_EQ(display_text("a\u2028z"), std::string("a") + kReplacement + "z");
  EXPECT_EQ(display_text("a\u2029z"), std::string("a") + kReplacement + "z");
}

TEST(DisplayText, KeepsLettersThatAreReadFromRightToLeft) {
  EXPECT_EQ(display_text("\u05d0\u0627\u061b\u200d"), "\u05d0\u0627\u061b\u200d");
  EXPECT_EQ(undirected("\u05d0\u200d\u2065\u206a"), "\u05d0\u200d\u2065\u206a");
}

TEST(JsonString, EscapesWhatJsonAsksFor) {
  EXPECT_EQ(json_string("a\"b\\c\nd\x1f"), R"("a\"b\\c\u000ad\u001f")");
  EXPECT_EQ(json_string("\xff"), "\"\uFFFD\"");
  EXPECT_EQ(json_string("\u00e9"), "\"\u00e9\"");
}

}  // namespace
}  // namespace heaptape::base
