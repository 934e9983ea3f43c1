#include "replayer/report/html/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace heaptape::replayer {
namespace {

std::string string_json(const std::string& text) {
  JsonWriter out;
  out.string(text);
  return out.text();
}

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  JsonWriter out;
  out.open_object();
  out.field("a", "b");
  out.name("c");
  out.open_list();
  out.number(uint64_t{1});
  out.open_object();
  out.close_object();
  out.null();
  out.close_list();
  out.field("d", true);
  out.close_object();
  EXPECT_EQ(out.text(), R"({"a":"b","c":[1,{},null],"d":true})");
}

TEST(JsonWriter, CannotEndItsElement) {
  EXPECT_EQ(string_json("</script><!--<script>"), "\"\\u003c/script>\\u003c!--\\u003cscript>\"");
}

TEST(JsonWriter, EscapesNamesToo) {
  JsonWriter out;
  out.open_object();
  out.field("<\"", uint64_t{1});
  out.close_object();
  EXPECT_EQ(out.text(), R"({"\u003c\"":1})");
}

TEST(JsonWriter, WritesUtf8OfAnyBytes) {
  EXPECT_EQ(string_json("a\xff\n\\"), "\"a\uFFFD\uFFFD\\\\\"");
}

TEST(JsonWriter, TurnsTheDirectionOfNoText) {
  EXPECT_EQ(string_json("a\u202ez"), "\"a\uFFFDz\"");
  JsonWriter out;
  out.json("[\n\"\u2066a\u05d0\"]");
  EXPECT_EQ(out.text(), "[\n\"\uFFFDa\u05d0\"]");
}

TEST(JsonWriter, WritesWhatADoubleCannotHoldAsDigits) {
  JsonWriter out;
  out.list(std::vector<uint64_t>{uint64_t{1} << 53, (uint64_t{1} << 53) + 1, UINT64_MAX});
  EXPECT_EQ(out.text(), R"([9007199254740992,"9007199254740993","18446744073709551615"])");
}

TEST(JsonWriter, HasNoNumberThatJsonLacks) {
  JsonWriter out;
  out.open_list();
  out.number(0.5);
  out.number(std::numeric_limits<double>::quiet_NaN());
  out.number(std::numeric_limits<double>::infinity());
  out.close_list();
  EXPECT_EQ(out.text(), "[0.5,null,null]");
}

}  // namespace
}  // namespace heaptape::replayer
