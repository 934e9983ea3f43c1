#include "base/address/address_map.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/seeded_random.h"

namespace heaptape::base {
namespace {

TEST(AddressMap, HasNothingOutsideOfItsRanges) {
  AddressMap<int> map;
  map.assign({10, 20}, 1);
  EXPECT_EQ(map.find(9), nullptr);
  EXPECT_EQ(*map.find(10), 1);
  EXPECT_EQ(*map.find(19), 1);
  EXPECT_EQ(map.find(20), nullptr);
}

TEST(AddressMap, TakesNothingFromAnEmptyRange) {
  AddressMap<int> map;
  map.assign({10, 10}, 1);
  map.assign({20, 10}, 1);
  EXPECT_TRUE(map.empty());
}

TEST(AddressMap, HasAtEachAddressWhatWasAssignedLast) {
  tests::SeededRandom random;
  AddressMap<int> map;
  std::vector<int> expected(64, -1);
  for (int i = 0; i < 300; ++i) {
    const uint64_t begin = random.below(64);
    const uint64_t end = begin + random.below(64 - begin + 1);
    map.assign({begin, end}, i);
    for (uint64_t at = begin; at < end; ++at) expected[at] = i;
    for (uint64_t at = 0; at < 64; ++at) {
      const int* const found = map.find(at);
      ASSERT_EQ(found == nullptr ? -1 : *found, expected[at]) << at;
    }
  }
}

}  // namespace
}  // namespace heaptape::base
