#include "replayer/answers/meshing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/support/seeded_random.h"

namespace heaptape::replayer {
namespace {

using base::kPageBytes;

constexpr uint64_t kHeap = 0x10000000;

// Pages from kHeap on, all of them committed and resident.
class MeshingTest : public testing::Test {
 protected:
  void commit(uint64_t pages) { picture_.regions = {{kHeap, kHeap + pages * kPageBytes}}; }
  void place(uint64_t page, uint64_t offset, uint64_t bytes) {
    picture_.blocks.push_back(
        {.address = kHeap + page * kPageBytes + offset, .usable_bytes = bytes});
  }
  MeshEstimate estimate() const { return estimate_meshing(picture_); }

  HeapPicture picture_;
};

TEST_F(MeshingTest, FindsNothingInAnEmptyHeap) {
  commit(3);
  EXPECT_EQ(estimate().pages, 0u);
  EXPECT_EQ(estimate().meshable_bytes, 0u);
  EXPECT_EQ(estimate().most_bytes, 0u);
}

TEST_F(MeshingTest, MergesTwoPagesWhoseBlocksLieAtDifferentOffsets) {
  commit(2);
  place(0, 0, 64);
  place(1, 64, 64);
  EXPECT_EQ(estimate().pages, 2u);
  EXPECT_EQ(estimate().meshable_bytes, kPageBytes);
  EXPECT_EQ(estimate().most_bytes, kPageBytes);
}

TEST_F(MeshingTest, LeavesPagesApartWhoseBlocksShareAGranule) {
  commit(2);
  place(0, 0, 65);
  place(1, 64, 64);
  EXPECT_EQ(estimate().meshable_bytes, 0u);
  EXPECT_EQ(estimate().most_bytes, 0u);
}

TEST_F(MeshingTest, TellsSmallerGranulesApart) {
  picture_.granule_log2 = 3;
  commit(2);
  place(0, 0, 72);
  place(1, 72, 8);
  EXPECT_EQ(estimate().meshable_bytes, kPageBytes);
}

TEST_F(MeshingTest, MergesMoreThanTwoPagesIntoOne) {
  commit(16);
  for (uint64_t page = 0; page < 16; ++page) place(page, page * 256, 256);
  EXPECT_EQ(estimate().meshable_bytes, 15 * kPageBytes);
}

TEST_F(MeshingTest, CountsABlockWithoutBytesAsOneGranule) {
  commit(2);
  place(0, 128, 0);
  place(1, 128, 0);
  EXPECT_EQ(estimate().pages, 2u);
  EXPECT_EQ(estimate().meshable_bytes, 0u);
}

TEST_F(MeshingTest, TakesTheEndsOfALargeBlockForPartsOfPages) {
  commit(10);
  place(0, 2048, 8 * kPageBytes);  // to the middle of page 8
  EXPECT_EQ(estimate().pages, 2u);
  EXPECT_EQ(estimate().meshable_bytes, kPageBytes);
}

TEST_F(MeshingTest, LeavesOutPagesThatAreFull) {
  commit(2);
  place(0, 0, kPageBytes / 2);
  place(0, kPageBytes / 2, kPageBytes / 2);
  place(1, 0, kPageBytes);
  EXPECT_EQ(estimate().pages, 0u);
}

TEST_F(MeshingTest, LeavesOutPagesThatAreNotResident) {
  commit(3);
  for (uint64_t page = 0; page < 3; ++page) place(page, page * 64, 64);
  picture_.absent = {{{kHeap + kPageBytes, kHeap + 2 * kPageBytes}}};
  EXPECT_EQ(estimate().pages, 2u);
  EXPECT_EQ(estimate().meshable_bytes, kPageBytes);
}

TEST_F(MeshingTest, LeavesOutBlocksOutsideTheCommittedMemory) {
  commit(1);
  place(0, 0, 64);
  place(1, 64, 64);
  EXPECT_EQ(estimate().pages, 1u);
}

TEST_F(MeshingTest, PromisesNothingOfPagesMoreThanHalfFull) {
  commit(2);
  place(0, 0, kPageBytes / 2 + 16);
  place(1, kPageBytes / 2 - 16, kPageBytes / 2 + 16);
  EXPECT_EQ(estimate().most_bytes, 0u);
}

// Pages of random blocks, from nearly empty to nearly full.
std::vector<PartlyLivePage> random_pages(tests::Random& random, size_t count) {
  std::vector<PartlyLivePage> pages;
  const uint64_t stretch = 1 + random.below(128);  // granules
  const uint64_t rarity = 2 + random.below(6);
  for (uint64_t page = 0; page < count; ++page) {
    LiveGranules live = {};
    live[random.below(4)] |= 1;
    for (uint64_t bit = 0; bit < 256; ++bit) {
      if ((bit / stretch * 7 + page * 5 + random.below(3)) % rarity == 0) {
        live[bit / 64] |= uint64_t{1} << bit % 64;
      }
    }
    pages.push_back({page * kPageBytes, live});
  }
  return pages;
}

bool overlap(const PartlyLivePage& a, const PartlyLivePage& b) {
  for (size_t i = 0; i < a.live.size(); ++i) {
    if ((a.live[i] & b.live[i]) != 0) return true;
  }
  return false;
}

// Every way of grouping the pages from `next` on, one after the other; the fewest groups.
size_t fewest_groups(std::span<const PartlyLivePage> pages, size_t next,
                     std::vector<PartlyLivePage> groups, size_t fewest) {
  if (groups.size() >= fewest) return fewest;
  if (next == pages.size()) return groups.size();
  for (size_t i = 0; i < groups.size(); ++i) {
    if (overlap(groups[i], pages[next])) continue;
    std::vector<PartlyLivePage> merged = groups;
    for (size_t w = 0; w < merged[i].live.size(); ++w) merged[i].live[w] |= pages[next].live[w];
    fewest = fewest_groups(pages, next + 1, std::move(merged), fewest);
  }
  groups.push_back(pages[next]);
  return fewest_groups(pages, next + 1, std::move(groups), fewest);
}

// The most pairs of pages of which each two do not overlap, no page in two pairs: by `taken`, a bit
// for each page.
size_t most_pairs(std::span<const PartlyLivePage> pages, uint32_t taken) {
  const auto first = static_cast<size_t>(std::countr_one(taken));
  if (first >= pages.size()) return 0;
  size_t most = most_pairs(pages, taken | 1u << first);
  for (size_t i = first + 1; i < pages.size(); ++i) {
    if ((taken >> i & 1) != 0 || overlap(pages[first], pages[i])) continue;
    most = std::max(most, 1 + most_pairs(pages, taken | 1u << first | 1u << i));
  }
  return most;
}

size_t groups_in(const std::vector<uint32_t>& group_of) {
  return std::ranges::max(group_of) + size_t{1};
}

TEST(MeshedPages, NeverOverlapInTheirGroup) {
  tests::SeededRandom random;
  for (int round = 0; round < 100; ++round) {
    const auto pages = random_pages(random, 2 + random.below(60));
    const auto group_of = mesh(pages);
    for (size_t i = 0; i < pages.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        ASSERT_FALSE(group_of[i] == group_of[j] && overlap(pages[i], pages[j]));
      }
    }
  }
}

TEST(MeshedPages, AreNoFewerThanAnyGroupingLeaves) {
  tests::SeededRandom random;
  for (int round = 0; round < 200; ++round) {
    const auto pages = random_pages(random, 2 + random.below(9));
    ASSERT_GE(groups_in(mesh(pages)), fewest_groups(pages, 0, {}, pages.size()));
  }
}

TEST(MeshedPages, SaveHalfOfWhatTheBestPairsWouldSaveAtLeast) {
  tests::SeededRandom random;
  for (int round = 0; round < 200; ++round) {
    const auto pages = random_pages(random, 2 + random.below(9));
    const size_t saved = pages.size() - groups_in(mesh(pages));
    ASSERT_GE(2 * saved, most_pairs(pages, 0));
  }
}

// A heap of one page for each of `pages`, with a block for each granule.
HeapPicture picture_of(const std::vector<PartlyLivePage>& pages) {
  HeapPicture picture;
  picture.regions = {{0, pages.size() * kPageBytes}};
  for (const PartlyLivePage& page : pages) {
    for (uint64_t bit = 0; bit < 256; ++bit) {
      if ((page.live[bit / 64] >> bit % 64 & 1) == 0) continue;
      picture.blocks.push_back({page.address + bit * 16, 16});
    }
  }
  return picture;
}

TEST(MeshEstimate, NeverPromisesLessThanTheBestGroupingSaves) {
  tests::SeededRandom random;
  for (int round = 0; round < 200; ++round) {
    const auto pages = random_pages(random, 2 + random.below(9));
    const MeshEstimate estimate = estimate_meshing(picture_of(pages));
    const size_t best = pages.size() - fewest_groups(pages, 0, {}, pages.size());
    ASSERT_GE(estimate.most_bytes, best * kPageBytes);
    ASSERT_LE(estimate.meshable_bytes, best * kPageBytes);
  }
}

TEST(MeshEstimate, MergesNoLessWhereThereAreTooManyPagesToTestThemAll) {
  std::vector<PartlyLivePage> pages;
  for (uint64_t i = 0; i < 4 * kSearchedInFull; ++i) {
    pages.push_back({i * kPageBytes, {i % 2 == 0 ? uint64_t{0xff} : ~uint64_t{0xff}}});
  }
  EXPECT_EQ(groups_in(mesh(pages)), pages.size() / 2);
}

}  // namespace
}  // namespace heaptape::replayer
