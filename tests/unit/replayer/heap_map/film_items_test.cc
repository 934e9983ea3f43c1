#include "replayer/heap_map/film_items.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

constexpr size_t kMost = 4;

class FilmItemsTest : public testing::Test {
 protected:
  void frame(uint64_t at) { items_.begin_frame(at); }
  void block(uint64_t begin, uint64_t bytes, uint64_t birth) {
    items_.note_block({begin, begin + bytes}, birth, bytes - 1);
  }
  void hole(uint64_t begin, uint64_t bytes) { items_.note_hole({begin, begin + bytes}); }

  FilmItems items_{kMost};
};

TEST_F(FilmItemsTest, KnowsABlockFromItsFirstFrameToItsLast) {
  for (const uint64_t at : {10, 20, 30}) {
    frame(at);
    block(0x1000, 64, 7);
  }
  frame(40);
  const auto list = items_.list();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].range, (base::AddressRange{0x1000, 0x1040}));
  EXPECT_EQ(list[0].birth, 7u);
  EXPECT_EQ(list[0].requested_bytes, 63u);
  EXPECT_EQ(list[0].first_at, 10u);
  EXPECT_EQ(list[0].last_at, 30u);
}

TEST_F(FilmItemsTest, TakesWhatWentAndCameBackForTwo) {
  frame(10);
  hole(0x1000, 64);
  frame(20);
  frame(30);
  hole(0x1000, 64);
  EXPECT_EQ(items_.list().size(), 2u);
}

TEST_F(FilmItemsTest, TakesABlockInTheSamePlaceForAnotherOne) {
  frame(10);
  block(0x1000, 64, 7);
  frame(20);
  block(0x1000, 64, 15);
  EXPECT_EQ(items_.list().size(), 2u);
}

TEST_F(FilmItemsTest, GoesOnWithTheSameFrame) {
  frame(10);
  hole(0x1000, 64);
  frame(20);
  hole(0x1000, 64);
  frame(20);
  hole(0x1000, 64);
  EXPECT_EQ(items_.list().size(), 1u);
}

TEST_F(FilmItemsTest, TellsTheHeaviestFirst) {
  frame(10);
  hole(0x1000, 64);
  block(0x2000, 100, 1);
  hole(0x3000, 80);
  const auto list = items_.list();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].range.begin, 0x2000u);
  EXPECT_EQ(list[1].range.begin, 0x3000u);
}

TEST_F(FilmItemsTest, DropsTheLightestOfTooMany) {
  frame(10);
  hole(0x100000, 4096);
  for (uint64_t i = 0; i < 20; ++i) {
    frame(11 + i);
    hole(0x100000, 4096);
    hole(0x1000 + 0x100 * i, 16);
  }
  const auto list = items_.list();
  EXPECT_EQ(list.size(), kMost);
  EXPECT_EQ(list[0].range.begin, 0x100000u);
  EXPECT_EQ(list[0].first_at, 10u);
  EXPECT_EQ(list[0].last_at, 30u);
}

TEST_F(FilmItemsTest, TakesABlockThatWasResizedInPlaceForTheSame) {
  frame(10);
  items_.note_block({0x1000, 0x1040}, 7, 50);
  frame(20);
  items_.note_block({0x1000, 0x1040}, 7, 60);
  ASSERT_EQ(items_.list().size(), 1u);
  EXPECT_EQ(items_.list()[0].requested_bytes, 60u);
}

TEST_F(FilmItemsTest, TakesASecondFrameOfACallForTheFirst) {
  frame(10);
  hole(0x1000, 64);
  frame(20);
  frame(20);
  hole(0x1000, 64);
  EXPECT_EQ(items_.list().size(), 1u);
}

}  // namespace
}  // namespace heaptape::replayer
