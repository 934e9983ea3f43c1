#include "base/number_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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
TEST(EstimatedBytesText, HasTheErrorInTheUnitOfTheBytes) {
  EXPECT_EQ(estimated_bytes_text(12'897'484, 838'000), "12.3 MiB +- 0.8");
  EXPECT_EQ(estimated_bytes_text(12'897'484, 0), "12.3 MiB");
  EXPECT_EQ(estimated_bytes_text(12'897'484, 1), "12.3 MiB +- 0.1");  // never none
  EXPECT_EQ(estimated_bytes_text(1'536, 2'048), "1.50 KiB +- 2.00");
  EXPECT_EQ(estimated_bytes_text(400, 1'234), "400 B +- 1,234");
}

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

// Around each place where a digit or a unit changes: three digits or four, of the nearest number,
// and never as much as the next unit.
void expect_nearest(const std::string& text, long double number, long double step,
                    const std::vector<std::string>& units) {
  const size_t blank = text.find(' ');
  const std::string digits = text.substr(0, blank);
  const auto unit = std::ranges::find(units, text.substr(blank + 1)) - units.begin();
  const long double scale = std::pow(step, static_cast<long double>(unit));
  const long double shown = std::stold(digits);
  const bool is_last = static_cast<size_t>(unit) + 1 == units.size();
  EXPECT_TRUE(is_last || shown < step) << text;
  EXPECT_TRUE(unit == 0 || shown >= 1) << text;
  if (digits.find('.') == digits.npos) return;
  const size_t places = digits.size() - digits.find('.') - 1;
  EXPECT_EQ(places, shown < 10 ? 2u : 1u) << text;
  const long double half = scale * (places == 2 ? 0.005L : 0.05L);
  EXPECT_LE(std::fabs(shown * scale - number), half * 1.000001L) << text << " of " << number;
}

TEST(BytesText, IsTheNearestOfThreeDigits) {
  for (int log2 = 0; log2 < 64; log2 += 10) {
    for (const double times : {1.0, 1.005, 1.125, 9.99, 9.994, 9.995, 9.996, 10.0, 99.94, 99.95,
                               999.9, 1023.94, 1023.95, 1023.96, 1024.0}) {
      const double middle = std::ldexp(times, log2);
      if (middle >= 0x1p63) continue;
      for (const int more : {-1, 0, 1}) {
        const uint64_t bytes = static_cast<uint64_t>(middle) + static_cast<uint64_t>(more);
        expect_nearest(bytes_text(bytes), bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
      }
    }
  }
}

TEST(DurationText, IsTheNearestOfThreeDigits) {
  for (const double unit : {1.0, 1e3, 1e6, 1e9}) {
    for (const double times : {0.001, 0.5, 1.0, 1.234, 9.994, 9.996, 10.0, 12.34, 99.94, 99.96,
                               999.94, 999.96, 1000.0}) {
      expect_nearest(duration_text(times * unit), times * unit, 1000, {"ns", "us", "ms", "s"});
    }
  }
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
