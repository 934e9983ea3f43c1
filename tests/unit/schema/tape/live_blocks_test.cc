#include "schema/tape/live_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/tapes.h"

namespace heaptape::schema {
namespace {

using tests::free_event;
using tests::malloc_event;

TEST(LiveBlocks, AreInOrderOfBirth) {
  LiveBlocks live;
  live.add(malloc_event(1, 0x3000), 7, 1);
  live.add(malloc_event(2, 0x1000), 8, 2);
  live.add(malloc_event(3, 0x2000), 9, 3);
  live.add(free_event(0x1000), 0, 4);
  live.add(malloc_event(4, 0x1000), 5, 5);
  const auto blocks = live.list();
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].birth, malloc_event(1, 0x3000));
  EXPECT_EQ(blocks[0].stack, 7u);
  EXPECT_EQ(blocks[0].number, 1u);
  EXPECT_EQ(blocks[1].birth, malloc_event(3, 0x2000));
  EXPECT_EQ(blocks[2].birth, malloc_event(4, 0x1000));
}

TEST(LiveBlocks, AreNewWhereTheyWereResized) {
  LiveBlocks live;
  live.add(malloc_event(1, 0x1000), 7, 1);
  live.add(malloc_event(2, 0x2000), 8, 2);
  live.add({.op = Op::kRealloc, .size = 9, .address = 0x1000, .freed_address = 0x1000}, 9, 3);
  live.add({.op = Op::kRealloc, .size = 9, .freed_address = 0x2000}, 9, 4);
  live.add({.op = Op::kRealloc, .size = 0, .freed_address = 0}, 9, 5);
  const auto blocks = live.list();
  ASSERT_EQ(blocks.size(), 2u) << "a resize that failed leaves its block";
  EXPECT_EQ(blocks[0].birth, malloc_event(2, 0x2000));
  EXPECT_EQ(blocks[1].birth, malloc_event(9, 0x1000));
  EXPECT_EQ(blocks[1].stack, 9u);
}

TEST(LiveBlocks, MayKeepTheirBirthWhenResized) {
  LiveBlocks live(Resized::kKeepsItsBirth);
  live.add(malloc_event(1, 0x1000, 3), 7, 1);
  live.add(malloc_event(2, 0x2000), 8, 2);
  live.add({.op = Op::kRealloc, .thread = 5, .size = 9, .address = 0x3000, .freed_address = 0x1000},
           9, 3);
  live.add({.op = Op::kRealloc, .size = 4, .address = 0x4000, .freed_address = 0x5000}, 9, 4);
  live.add({.op = Op::kRealloc, .size = 6, .address = 0x2000, .freed_address = 0x2000}, 9, 5);
  const auto blocks = live.list();
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].birth, malloc_event(9, 0x3000, 3));
  EXPECT_EQ(blocks[0].stack, 7u);
  EXPECT_EQ(blocks[0].number, 1u);
  EXPECT_EQ(blocks[1].birth, malloc_event(6, 0x2000));
  EXPECT_EQ(blocks[1].number, 2u);
  EXPECT_EQ(blocks[2].number, 4u) << "a block that nobody knew is made by the resize";
}

TEST(LiveBlocks, AreThoseOfAMap) {
  std::mt19937_64 random(1);
  LiveBlocks live;
  std::map<uint64_t, uint64_t> births;  // by address
  for (uint64_t number = 1; number <= 100'000; ++number) {
    const uint64_t address = 0x10000 + 16 * (random() % 3000);
    if (random() % 2 == 0) {
      live.add(malloc_event(number, address), 0, number);
      births[address] = number;  // the free of one that was there is missing
    } else {
      live.add(free_event(address), 0, number);
      births.erase(address);
    }
  }
  const auto blocks = live.list();
  ASSERT_EQ(blocks.size(), births.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(births.at(blocks[i].birth.address), blocks[i].number);
    const uint64_t before = i == 0 ? 0 : blocks[i - 1].number;
    EXPECT_LT(before, blocks[i].number);
  }
}

}  // namespace
}  // namespace heaptape::schema
