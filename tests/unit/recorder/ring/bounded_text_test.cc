#include "recorder/ring/bounded_text.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptape::recorder {
namespace {

TEST(BoundedText, IsCutWhereItsFieldEnds) {
  struct {
    char text[4];
    char next = '!';
  } field;
  copy_text(field.text, "abcdef");
  EXPECT_STREQ(field.text, "abc");
  EXPECT_EQ(field.next, '!');
}

TEST(BoundedText, HasEveryDigitOfANumber) {
  for (const unsigned number : {0u, 7u, 10u, 99u, 100u, 4294967295u}) {
    char digits[10];
    EXPECT_EQ(std::string(digits, write_decimal(digits, number)), std::to_string(number));
  }
}

}  // namespace
}  // namespace heaptape::recorder
