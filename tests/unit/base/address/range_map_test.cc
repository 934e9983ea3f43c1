#include "base/address/range_map.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/support/seeded_random.h"

namespace heaptape::base {
namespace {

using Parts = std::vector<std::pair<AddressRange, int>>;

Parts parts_in(const RangeMap<int>& map, AddressRange window) {
  Parts parts;
  map.for_each_in(window, [&](AddressRange part, int value) { parts.emplace_back(part, value); });
  return parts;
}

TEST(RangeMap, GivesTheLastValueOfEachAddress) {
  RangeMap<int> map;
  map.assign({10, 50}, 1);
  map.assign({20, 30}, 2);
  map.erase({40, 45});
  EXPECT_EQ(parts_in(map, {0, 100}),
            (Parts{{{10, 20}, 1}, {{20, 30}, 2}, {{30, 40}, 1}, {{45, 50}, 1}}));
  EXPECT_EQ(parts_in(map, {15, 22}), (Parts{{{15, 20}, 1}, {{20, 22}, 2}}));
  EXPECT_EQ(parts_in(map, {41, 45}), Parts());
}

TEST(RangeMap, JoinsNeighboursWithOneValue) {
  RangeMap<int> map;
  map.assign({10, 20}, 1);
  map.assign({30, 40}, 1);
  map.assign({20, 30}, 1);
  map.assign({40, 50}, 2);
  EXPECT_EQ(map.size(), 2u);
  EXPECT_EQ(parts_in(map, {0, 100}), (Parts{{{10, 40}, 1}, {{40, 50}, 2}}));
}

TEST(RangeMap, IgnoresEmptyRanges) {
  RangeMap<int> map;
  map.assign({10, 10}, 1);
  map.assign({10, 20}, 1);
  map.erase({15, 15});
  map.erase({18, 12});
  map.assign({18, 12}, 2);
  EXPECT_EQ(parts_in(map, {0, 100}), (Parts{{{10, 20}, 1}}));
}

TEST(RangeMap, ErasesWholeParts) {
  RangeMap<int> map;
  map.assign({10, 20}, 1);
  map.assign({20, 30}, 2);
  map.assign({30, 40}, 3);
  map.erase_parts({20, 21});
  EXPECT_EQ(parts_in(map, {0, 100}), (Parts{{{10, 20}, 1}, {{30, 40}, 3}}));
  map.erase_parts({40, 50});
  map.erase_parts({0, 10});
  EXPECT_EQ(map.size(), 2u);
  map.erase_parts({15, 31});
  EXPECT_EQ(map.size(), 0u);
}

TEST(RangeMap, IsAnArrayOfValues) {
  constexpr uint64_t kAddresses = 24;
  tests::Random random(5);
  RangeMap<int> map;
  std::array<int, kAddresses> values{};  // 0: none
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t begin = random.below(kAddresses);
    const AddressRange range{begin, begin + random.below(kAddresses + 1 - begin)};
    const int value = static_cast<int>(random.below(4));
    if (value == 0) {
      map.erase(range);
    } else {
      map.assign(range, value);
    }
    for (uint64_t at = range.begin; at < range.end; ++at) values[at] = value;
    size_t runs = 0;
    for (uint64_t at = 0; at < kAddresses; ++at) {
      runs += values[at] != 0 && (at == 0 || values[at - 1] != values[at]) ? 1 : 0;
    }
    ASSERT_EQ(map.size(), runs);
    std::array<int, kAddresses> read{};
    for (const auto& [part, owner] : parts_in(map, {0, kAddresses})) {
      for (uint64_t at = part.begin; at < part.end; ++at) read[at] = owner;
    }
    ASSERT_EQ(read, values);
  }
}

}  // namespace
}  // namespace heaptape::base
