#include "base/quantity.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace heaptape::base {
namespace {

TEST(Quantity, IsAPlainNumber) {
  EXPECT_EQ(parse_quantity("0"), 0u);
  EXPECT_EQ(parse_quantity("18446744073709551615"), UINT64_MAX);
}

TEST(Quantity, HasUnitsOf1024AndOf1000) {
  EXPECT_EQ(parse_quantity("64KiB"), 65536u);
  EXPECT_EQ(parse_quantity("2TiB"), uint64_t{2} << 40);
  EXPECT_EQ(parse_quantity("3kB"), 3000u);
  EXPECT_EQ(parse_quantity("3KB"), 3000u);
  EXPECT_EQ(parse_quantity("4G"), 4'000'000'000u);
  EXPECT_EQ(parse_quantity("7B"), 7u);
}

TEST(Quantity, TakesAFractionThatComesOutWhole) {
  EXPECT_EQ(parse_quantity("1.5M"), 1'500'000u);
  EXPECT_EQ(parse_quantity("0.5KiB"), 512u);
  EXPECT_EQ(parse_quantity("2.0"), 2u);
}

TEST(Quantity, RefusesAFractionOfOne) {
  EXPECT_EQ(parse_quantity("1.5"), std::nullopt);
  EXPECT_EQ(parse_quantity("0.0001k"), std::nullopt);
}

// Every unit, with as many decimal places as there may be, and one more.
TEST(Quantity, IsExactToSixDecimalPlaces) {
  for (const char* const name :
       {"B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB", "k", "M", "G"}) {
    uint64_t scale = 1;
    for (int places = 1; places <= 7; ++places) {
      scale *= 10;
      for (const uint64_t parts :
           {1u, 2u, 4u, 5u, 8u, 25u, 125u, 15'625u, 390'625u, 999'999u, 5'000'000u}) {
        if (parts >= scale) continue;
        const std::string digits = std::to_string(scale + parts).substr(1);
        const uint64_t product = parts * find_unit(name)->factor;
        const bool is_whole = places <= 6 && product % scale == 0;
        const uint64_t rest = product / scale;
        const auto expected =
            is_whole ? std::optional(3 * find_unit(name)->factor + rest) : std::nullopt;
        EXPECT_EQ(parse_quantity("3." + digits + name), expected) << digits << name;
      }
    }
  }
}

TEST(Quantity, RefusesWhatDoesNotFit) {
  EXPECT_EQ(parse_quantity("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_quantity("16777216TiB"), std::nullopt);
  EXPECT_EQ(parse_quantity("18446744073.8G"), std::nullopt);
  EXPECT_EQ(parse_quantity("16777215TiB"), uint64_t{16777215} << 40);
}

TEST(Quantity, RefusesOtherText) {
  for (const char* text : {"", "k", "-1", "+1", " 1", "1 k", "1kk", "1.", ".5k", "1.k", "0x10",
                           "1e3", "1.0000000000000000000000001"}) {
    EXPECT_EQ(parse_quantity(text), std::nullopt) << text;
  }
}

TEST(Count, HasNoUnitsOfBytes) {
  EXPECT_EQ(parse_count("10k"), 10'000u);
  EXPECT_EQ(parse_count("10KiB"), std::nullopt);
  EXPECT_EQ(parse_count("10B"), std::nullopt);
}

TEST(Time, IsInUnitsOfTime) {
  EXPECT_EQ(parse_time("1.5s"), 1'500'000'000u);
  EXPECT_EQ(parse_time("200ms"), 200'000'000u);
  EXPECT_EQ(parse_time("10m"), 600'000'000'000u);
  EXPECT_EQ(parse_time("2h"), 7'200'000'000'000u);
  EXPECT_EQ(parse_time("0s"), 0u);
  for (const char* const text : {"", "s", "5", "-1s", "1e3s", "nans", "1 s", "3000000h", "1d"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

TEST(Units, AreThoseThatMessagesName) {
  std::string_view names = kUnitNames;
  for (size_t end = 0; end != std::string_view::npos; names.remove_prefix(end + 1)) {
    end = names.find(' ');
    EXPECT_NE(find_unit(names.substr(0, end)), nullptr) << names;
    if (end == std::string_view::npos) break;
  }
}

}  // namespace
}  // namespace heaptape::base
