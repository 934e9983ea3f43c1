#include "base/mimalloc_version.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptape::base {
namespace {

std::string mimalloc(int number) {
  char text[24];
  write_mimalloc_version(text, number);
  return text;
}

TEST(MimallocVersion, HadADigitForEachPart) {
  EXPECT_EQ(mimalloc(7), "0.0.7");
  EXPECT_EQ(mimalloc(188), "1.8.8");
  EXPECT_EQ(mimalloc(209), "2.0.9");
  EXPECT_EQ(mimalloc(315), "3.1.5");
}

TEST(MimallocVersion, HasTwoDigitsForMinorAndPatch) {
  EXPECT_EQ(mimalloc(20401), "2.4.1");
  EXPECT_EQ(mimalloc(31215), "3.12.15");
}

TEST(MimallocVersion, IsEmptyForAnotherNumber) {
  for (const int number : {-1, 0, 1000, 9999, 1'000'000}) EXPECT_EQ(mimalloc(number), "");
}

}  // namespace
}  // namespace heaptape::base
