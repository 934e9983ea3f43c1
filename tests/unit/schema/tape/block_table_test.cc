#include "schema/tape/block_table.h"

#include <gtest/gtest.h>

#include <map>

#include "schema/tape/tape_format.h"
#include "tests/support/seeded_random.h"

namespace heaptape::schema {
namespace {

constexpr size_t kPass = 256;

uint32_t class_for(uint64_t address) {
  return static_cast<uint32_t>(address / 16);
}

// Against a map, while it grows and after it was cleared, with few addresses and with many.
TEST(BlockTable, KnowsTheLastNumberOfEachAddress) {
  tests::SeededRandom random;
  BlockTable table;
  for (int round = 0; round < 12; ++round) {
    std::map<uint64_t, uint32_t> numbers;
    uint32_t count = 0;
    const uint64_t addresses = round % 3 == 0 ? 20'000 : 1 + random.below(400);
    for (size_t i = 0; i < 60 * kPass; ++i) {
      if (i % kPass == 0) table.reserve(kPass);
      const uint64_t address = (1 + random.below(addresses)) * 16;
      const bool adds = random.chance(2);
      const uint32_t number = table.find(address);
      const auto known = numbers.find(address);
      ASSERT_EQ(number, known == numbers.end() ? BlockTable::kNone : known->second);
      if (number != BlockTable::kNone) {
        ASSERT_EQ(table.size_classes_of(number), class_for(address));
      }
      if (adds) table.add(address, class_for(address));
      if (adds) numbers[address] = count++;
      ASSERT_EQ(table.count(), count);
    }
    table.clear();
    ASSERT_EQ(table.count(), 0u);
  }
}

// They take too many bits. Their blocks count all the same.
TEST(BlockTable, DoesNotKeepTheHighestAddresses) {
  BlockTable table;
  table.reserve(kPass);
  table.add(BlockTable::kLimit - 16, 7);
  table.add(BlockTable::kLimit, 8);
  table.add(0x10, 9);
  EXPECT_EQ(table.find(BlockTable::kLimit - 16), 0u);
  EXPECT_EQ(table.find(BlockTable::kLimit), BlockTable::kNone);
  EXPECT_EQ(table.find(0x10), 2u);
}

TEST(BlockTable, NumbersAsManyBlocksAsAChunkHas) {
  BlockTable table;
  for (uint64_t i = 1; i <= kEventsPerChunk; ++i) {
    if (i % kPass == 1) table.reserve(kPass);
    table.add(i * 16, 0);
  }
  EXPECT_EQ(table.find(16), 0u);
  EXPECT_EQ(table.find(uint64_t{kEventsPerChunk} * 16), kEventsPerChunk - 1);
}

// 2^16 addresses that a multiplier of Knuth's, which many tables have, puts into one slot. With a
// fixed one this takes a minute.
TEST(BlockTable, HasNoAddressesThatMeet) {
  constexpr uint64_t kInverse = 0xf1de83e19937733d;  // of 0x9e3779b97f4a7c15, modulo 2^64
  static_assert(kInverse * 0x9e3779b97f4a7c15 == 1);
  BlockTable table;
  uint32_t count = 0;
  for (uint64_t i = 1; count < 1u << 16; ++i) {
    const uint64_t address = i * 16 * kInverse;
    if (address >= BlockTable::kLimit) continue;
    if (count % kPass == 0) table.reserve(kPass);
    table.add(address, 0);
    ASSERT_EQ(table.find(address), count);
    ++count;
  }
}

}  // namespace
}  // namespace heaptape::schema
