#include "base/number_text.h"

#include <gtest/gtest.h>

namespace heaptape::base {
namespace {

TEST(Grouped, PutsACommaBeforeEveryThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(BytesText, IsExactBelowAKibibyte) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
}

TEST(BytesText, ShowsThreeDigitsAndTheUnit) {
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(12897485), "12.3 MiB");
  EXPECT_EQ(bytes_text(uint64_t{500} << 30), "500.0 GiB");
  EXPECT_EQ(bytes_text(10239), "10.0 KiB");
}

// Of two that are as near: tests/browser/page_test.py has the same ones.
TEST(BytesText, RoundsToTheEvenDigit) {
  EXPECT_EQ(bytes_text(1152), "1.12 KiB");
  EXPECT_EQ(bytes_text(1664), "1.62 KiB");
  EXPECT_EQ(bytes_text(1920), "1.88 KiB");
  EXPECT_EQ(bytes_text(10496), "10.2 KiB");
}

TEST(BytesText, NeverRoundsToAFullNextUnit) {
  EXPECT_EQ(bytes_text((1 << 20) - 1), "1.00 MiB");
  EXPECT_EQ(bytes_text(1023 << 10), "1023.0 KiB");
}

TEST(BytesText, StaysInTebibytesToTheEnd) {
  EXPECT_EQ(bytes_text(UINT64_MAX), "16777216.0 TiB");
}

TEST(BytesText, IsExactWhereTheUserWantsIt) {
  set_bytes_style(BytesStyle::kExact);
  EXPECT_EQ(bytes_text(12345678), "12,345,678 B");
  set_bytes_style(BytesStyle::kScaled);
  EXPECT_EQ(bytes_text(12345678), "11.8 MiB");
}

TEST(DurationText, ChoosesAUnit) {
  EXPECT_EQ(duration_text(0), "0.00 ns");
  EXPECT_EQ(duration_text(81.25), "81.2 ns");
  EXPECT_EQ(duration_text(1125), "1.12 us");
  EXPECT_EQ(duration_text(999960), "1.00 ms");
  EXPECT_EQ(duration_text(33150), "33.1 us");  // no tie in binary: 33.15 is a little less
  EXPECT_EQ(duration_text(1500000), "1.50 ms");
  EXPECT_EQ(duration_text(7.2e12), "7200.0 s");
}

}  // namespace
}  // namespace heaptape::base
