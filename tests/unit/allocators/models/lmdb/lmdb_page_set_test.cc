#include <gtest/gtest.h>

#include <set>

#include "allocators/models/lmdb/page_set.h"
#include "tests/support/seeded_random.h"

namespace heaptape::allocators::lmdb {
namespace {

TEST(LmdbPageSet, HoldsNothingAtFirst) {
  const PageSet pages;
  EXPECT_EQ(pages.size(), 0u);
  EXPECT_EQ(pages.count_below(1'000'000), 0u);
  EXPECT_EQ(pages.first_run(1), std::nullopt);
}

TEST(LmdbPageSet, FindsTheLowestRunThatIsLongEnough) {
  PageSet pages;
  pages.insert({5, 2});
  pages.insert({10, 3});
  pages.insert({20, 9});
  EXPECT_EQ(pages.first_run(1), 5u);
  EXPECT_EQ(pages.first_run(3), 10u);
  EXPECT_EQ(pages.first_run(4), 20u);
  EXPECT_EQ(pages.first_run(10), std::nullopt);
}

TEST(LmdbPageSet, FindsARunAcrossWords) {
  PageSet pages;
  pages.insert({60, 10});
  EXPECT_EQ(pages.first_run(10), 60u);
}

TEST(LmdbPageSet, FindsARunOfManyWords) {
  PageSet pages;
  pages.insert({3, 1});
  pages.insert({100, 1000});
  EXPECT_EQ(pages.first_run(1000), 100u);
  EXPECT_EQ(pages.first_run(1001), std::nullopt);
}

TEST(LmdbPageSet, JoinsRunsThatTouch) {
  PageSet pages;
  pages.insert({64, 64});
  pages.insert({0, 64});
  EXPECT_EQ(pages.first_run(128), 0u);
}

TEST(LmdbPageSet, KeepsItsPagesWhenItGrows) {
  PageSet pages;
  pages.insert({7, 1});
  pages.insert({1'000'000, 1});
  EXPECT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages.at(0), 7u);
  EXPECT_EQ(pages.at(1), 1'000'000u);
}

TEST(LmdbPageSet, SplitsARunWhereItIsErased) {
  PageSet pages;
  pages.insert({10, 100});
  pages.erase({50, 1});
  EXPECT_EQ(pages.first_run(59), 51u);
  EXPECT_EQ(pages.count_below(60), 49u);
}

std::optional<LmdbPage> first_run_of(const std::set<LmdbPage>& pages, uint32_t length) {
  uint32_t run = 0;
  LmdbPage last = 0;
  for (const LmdbPage page : pages) {
    run = run != 0 && page == last + 1 ? run + 1 : 1;
    last = page;
    if (run == length) return page - (length - 1);
  }
  return std::nullopt;
}

TEST(LmdbPageSet, AgreesWithASortedSet) {
  tests::SeededRandom random;
  PageSet pages;
  std::set<LmdbPage> sorted;
  for (int i = 0; i < 10000; ++i) {
    const auto page = static_cast<LmdbPage>(random.below(700));
    sorted.contains(page) ? pages.erase({page, 1}) : pages.insert({page, 1});
    if (sorted.erase(page) == 0) sorted.insert(page);
    const auto length = static_cast<uint32_t>(1 + random.below(12));
    ASSERT_EQ(pages.first_run(length), first_run_of(sorted, length));
    const auto below = std::distance(sorted.begin(), sorted.lower_bound(page));
    ASSERT_EQ(pages.count_below(page), below);
    if (sorted.contains(page)) {
      ASSERT_EQ(pages.at(static_cast<uint32_t>(below)), page);
    }
  }
}

}  // namespace
}  // namespace heaptape::allocators::lmdb
