#include "replayer/text/csv_field.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptape::replayer {
namespace {

// As RFC 4180 reads a field.
std::string read_back(const std::string& field) {
  if (!field.starts_with('"')) {
    EXPECT_EQ(field.find_first_of(",\"\r\n"), std::string::npos) << field;
    return field;
  }
  std::string text;
  for (size_t i = 1; i + 1 < field.size(); ++i) {
    text += field[i];
    if (field[i] != '"') continue;
    ++i;
    EXPECT_EQ(field[i], '"') << field;
  }
  EXPECT_TRUE(field.ends_with('"'));
  return text;
}

TEST(CsvField, IsReadAsItWas) {
  const std::string letters = "a ,\"\r\n";
  for (const char a : letters) {
    for (const char b : letters) {
      for (const std::string& text : {std::string(1, a), {a, b}, {a, b, 'x'}}) {
        EXPECT_EQ(read_back(csv_field(text)), text);
      }
    }
  }
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field(""), "");
}

}  // namespace
}  // namespace heaptape::replayer
