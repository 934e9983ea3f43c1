#include "schema/json_escapes.h"

#include <gtest/gtest.h>

namespace heaptape::schema {
namespace {

TEST(JsonEscapes, BecomeTheCharactersThatTheyMean) {
  EXPECT_EQ(without_unicode_escapes(R"("caf\u00e9 \u00E9 \u20ac \u0041")"),
            "\"caf\u00e9 \u00e9 \u20ac A\"");
  EXPECT_EQ(without_unicode_escapes(R"(["\ud83d\ude00"])"), "[\"\U0001F600\"]");
  EXPECT_EQ(without_unicode_escapes(R"("\u001f\u000a")"), "\"\x1f\n\"");
}

TEST(JsonEscapes, EndNoString) {
  EXPECT_EQ(without_unicode_escapes(R"("\u0022\u005c","\u0041")"), R"("\"\\","A")");
  EXPECT_EQ(without_unicode_escapes(R"("a\u0000")"), R"("a\u0000")");
}

TEST(JsonEscapes, OfHalfASurrogatePairBecomeTheReplacement) {
  EXPECT_EQ(without_unicode_escapes(R"("\ud83d")"), "\"\uFFFD\"");
  EXPECT_EQ(without_unicode_escapes(R"("\ude00\ud83d")"), "\"\uFFFD\uFFFD\"");
  EXPECT_EQ(without_unicode_escapes(R"("\ud83d\ud83d\ude00")"), "\"\uFFFD\U0001F600\"");
  EXPECT_EQ(without_unicode_escapes(R"("\ud83d\u0041")"), "\"\uFFFDA\"");
}

TEST(JsonEscapes, KnowTheFirstAndTheLastSurrogates) {
  EXPECT_EQ(without_unicode_escapes(R"("\ud800\udc00\udbff\udfff")"), "\"\U00010000\U0010FFFF\"");
  EXPECT_EQ(without_unicode_escapes(R"("\ud7ff\ue000")"), "\"\ud7ff\ue000\"");
}

TEST(JsonEscapes, ThatAreCutOrNoneStay) {
  for (const char* json : {R"("\u00)", R"("\u)", R"("\)", R"("\u00g0")", R"("\u-123")",
                           R"("\u 123")", R"("\u12")", R"("\u+123")", R"("\u0x1f")"}) {
    EXPECT_EQ(without_unicode_escapes(json), json);
  }
}

TEST(JsonEscapes, AreOnlyThoseOfStrings) {
  EXPECT_EQ(without_unicode_escapes(R"(\u0041 "\\u0041" \u0041)"), R"(\u0041 "\\u0041" \u0041)");
  EXPECT_EQ(without_unicode_escapes(R"("\"\u0041" "\n\/\u0041")"), R"("\"A" "\n\/A")");
}

}  // namespace
}  // namespace heaptape::schema
