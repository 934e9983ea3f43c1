// Blocks by size, with the holes that they pin, each counted once.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "replayer/answers/pins.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kBase = 0x10000;

// Blocks of 256 bytes at these pages, born in this order from #1, in a heap of 16 pages.
HeapPicture heap_of(const std::vector<uint64_t>& pages, const std::vector<uint64_t>& sizes) {
  HeapPicture picture;
  picture.at = 100;
  picture.regions = {{kBase, kBase + 16 * 4096}};
  for (size_t i = 0; i < pages.size(); ++i) {
    picture.blocks.push_back({kBase + pages[i] * 4096, 256, sizes[i], i + 1});
  }
  return picture;
}

std::optional<PinnedBy> culprit(const HeapPicture& picture) {
  return main_culprit(picture, find_holes(picture));
}

// The holes before pages 2, 5 and 9; without the blocks at 2 and 5 most would be free.
TEST(MainCulprit, IsTheSizeWithoutWhichThereWouldBeMost) {
  const HeapPicture picture = heap_of({0, 2, 5, 15}, {10, 20, 20, 30});
  const auto pins = culprit(picture);
  ASSERT_TRUE(pins);
  EXPECT_EQ(pins->size_bytes, 20u);
  EXPECT_EQ(pins->count, 2u);
  EXPECT_EQ(pins->first_birth, 2u);
  EXPECT_EQ(pins->last_birth, 3u);
  EXPECT_EQ(pins->births, (std::vector<uint64_t>{2, 3}));
}

TEST(MainCulprit, HasEachHoleOnce) {
  HeapPicture picture = heap_of({0, 2, 5, 9}, {20, 20, 20, 20});
  const auto pins = culprit(picture);
  ASSERT_TRUE(pins);
  uint64_t holes = 0;
  for (const Hole& hole : find_holes(picture)) holes += hole.resident_bytes;
  EXPECT_EQ(pins->resident_hole_bytes, holes);
}

TEST(MainCulprit, IsOneSizeOfSeveral) {
  HeapPicture picture = heap_of({0, 2, 5, 9}, {10, 20, 30, 40});
  const auto of_one = culprit(picture);
  ASSERT_TRUE(of_one);
  EXPECT_EQ(of_one->count, 1u);
  // What is not resident pins nothing.
  picture.absent = {{kBase, kBase + 16 * 4096}};
  EXPECT_FALSE(culprit(picture));
}

TEST(MainCulprit, IsNamedBySomeOfManyBirths) {
  HeapPicture picture;
  picture.at = 1000;
  picture.regions = {{kBase, kBase + 4096 * 400}};
  for (uint64_t i = 0; i < 200; ++i) {
    picture.blocks.push_back({kBase + i * 8192, 256, 20, i + 1});
  }
  const auto pins = culprit(picture);
  ASSERT_TRUE(pins);
  EXPECT_GT(pins->count, 150u);
  EXPECT_LE(pins->births.size(), 64u);
  EXPECT_GE(pins->births.size(), 40u);
  EXPECT_GT(pins->births.back(), 150u) << "evenly chosen";
}

TEST(MainCulprit, HasNoOpenHoles) {
  HeapPicture picture = heap_of({0, 8}, {10, 20});
  picture.unseen = {{{kBase + 4096, kBase + 2 * 4096}}};
  EXPECT_FALSE(culprit(picture));
}

}  // namespace
}  // namespace heaptape::replayer
