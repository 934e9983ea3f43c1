// Who pins the holes of a heap, each hole counted once.
#include <gtest/gtest.h>

#include <numeric>

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

std::vector<PinnedBy> culprits(const HeapPicture& picture, size_t most = 9) {
  return rank_culprits(picture, find_holes(picture), most);
}

TEST(Culprits, HaveEachHoleOnce) {
  const HeapPicture picture = heap_of({0, 2, 5, 9}, {10, 20, 20, 30});
  uint64_t sum = 0;
  for (const PinnedBy& group : culprits(picture)) sum += group.resident_hole_bytes;
  const std::vector<Hole> holes = find_holes(picture);
  EXPECT_EQ(holes.size(), 3u);
  EXPECT_EQ(sum, std::accumulate(
                     holes.begin(), holes.end(), uint64_t{0},
                     [](uint64_t bytes, const Hole& hole) { return bytes + hole.resident_bytes; }));
}

// The holes at pages 2 and 5 end at the pins behind which most is free.
TEST(Culprits, AreTheBlocksWithoutWhichThereWouldBeMost) {
  const HeapPicture picture = heap_of({0, 2, 5, 15}, {10, 20, 20, 30});
  const auto groups = culprits(picture);
  ASSERT_FALSE(groups.empty());
  EXPECT_EQ(groups[0].size_bytes, 20u);
  EXPECT_EQ(groups[0].count, 2u);
  EXPECT_EQ(groups[0].first_birth, 2u);
  EXPECT_EQ(groups[0].last_birth, 3u);
  EXPECT_EQ(groups[0].births, (std::vector<uint64_t>{2, 3}));
}

TEST(Culprits, AreAtMostSoMany) {
  const HeapPicture picture = heap_of({0, 2, 5, 9, 15}, {10, 20, 30, 40, 50});
  const auto all = culprits(picture);
  ASSERT_GT(all.size(), 1u);
  const auto one = culprits(picture, 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].size_bytes, all[0].size_bytes);
  EXPECT_GE(all[0].resident_hole_bytes, all[1].resident_hole_bytes);
}

TEST(Culprits, AreNamedBySomeOfManyBirths) {
  HeapPicture picture;
  picture.at = 1000;
  picture.regions = {{kBase, kBase + 4096 * 400}};
  for (uint64_t i = 0; i < 200; ++i) {
    picture.blocks.push_back({kBase + i * 8192, 256, 20, i + 1});
  }
  const auto groups = culprits(picture);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_GT(groups[0].count, 150u);
  EXPECT_LE(groups[0].births.size(), 64u);
  EXPECT_GE(groups[0].births.size(), 40u);
  EXPECT_GT(groups[0].births.back(), 150u) << "evenly chosen";
}

TEST(Culprits, HaveNoOpenHoles) {
  HeapPicture picture = heap_of({0, 8}, {10, 20});
  picture.unseen = {{{kBase + 4096, kBase + 2 * 4096}}};
  EXPECT_TRUE(culprits(picture).empty());
}

}  // namespace
}  // namespace heaptape::replayer
