#include "base/address/slot_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptape::base {
namespace {

struct Pair {
  uint64_t first;
  uint64_t second;
};
constexpr size_t kManyPairs = 300'000;  // of several chunks, the last of them in part

TEST(SlotTable, HasNothingAtFirst) {
  SlotTable<Pair> table;
  EXPECT_EQ(table.size(), 0u);
  table.for_each([](const Pair&) { FAIL(); });
}

TEST(SlotTable, BeginsWithZeroes) {
  SlotTable<Pair> table;
  table.grow(kManyPairs);
  table.for_each([](const Pair& pair) { ASSERT_EQ(pair.first | pair.second, 0u); });
}

TEST(SlotTable, KeepsWhatItHasWhereItIs) {
  SlotTable<Pair> table;
  std::vector<const Pair*> places;
  for (size_t i = 0; i < kManyPairs; ++i) {
    table.grow(i + 1);
    table[i] = {i, i + 1};
    places.push_back(&table[i]);
  }
  for (size_t i = 0; i < kManyPairs; ++i) {
    ASSERT_EQ(&table[i], places[i]);
    ASSERT_EQ(table[i].first, i);
    ASSERT_EQ(table[i].second, i + 1);
  }
}

TEST(SlotTable, NeverShrinks) {
  SlotTable<Pair> table;
  table.grow(10);
  table[9].first = 7;
  table.grow(3);
  EXPECT_EQ(table.size(), 10u);
  EXPECT_EQ(table[9].first, 7u);
}

TEST(SlotTable, VisitsEachInTurn) {
  SlotTable<Pair> table;
  table.grow(kManyPairs);
  for (size_t i = 0; i < kManyPairs; ++i) table[i].first = i;
  size_t next = 0;
  table.for_each([&next](const Pair& pair) { ASSERT_EQ(pair.first, next++); });
  EXPECT_EQ(next, kManyPairs);
}

TEST(SlotTable, VisitsNoMoreThanIsWanted) {
  SlotTable<Pair> table;
  table.grow(kManyPairs);
  size_t visited = 0;
  table.visit_until([&visited](const Pair&) { return ++visited == 200'000; });
  EXPECT_EQ(visited, 200'000u);
}

}  // namespace
}  // namespace heaptape::base
