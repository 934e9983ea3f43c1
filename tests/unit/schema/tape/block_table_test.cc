#include "schema/tape/block_table.h"

#include <gtest/gtest.h>

#include <map>

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
      const BlockTable::Block block =
          adds || random.chance(2) ? table.find_or_add(address, class_for(address), adds ? 1 : 0)
                                   : table.find(address);
      const auto known = numbers.find(address);
      if (known == numbers.end()) {
        ASSERT_EQ(block.address, 0u);
      } else {
        ASSERT_EQ(block.address, address);
        ASSERT_EQ(block.number, known->second);
        ASSERT_EQ(block.size_class, class_for(address));
      }
      if (adds) numbers[address] = count++;
      ASSERT_EQ(table.count(), count);
    }
    table.clear();
    ASSERT_EQ(table.count(), 0u);
  }
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
    if (address >> 57 != 0) continue;
    if (count % kPass == 0) table.reserve(kPass);
    table.add(address, 0);
    ASSERT_EQ(table.find(address).number, count);
    ++count;
  }
}

}  // namespace
}  // namespace heaptape::schema
