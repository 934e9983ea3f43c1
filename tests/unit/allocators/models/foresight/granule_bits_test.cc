#include "allocators/models/foresight/granule_bits.h"

#include <gtest/gtest.h>

#include <bitset>

#include "tests/support/seeded_random.h"

namespace heaptape::allocators::foresight {
namespace {

TEST(GranuleBits, BeginWithoutAny) {
  const GranuleBits bits{};
  EXPECT_TRUE(bits.none());
  EXPECT_EQ(bits.next_used(0), kPageGranules);
  EXPECT_EQ(bits.next_free(0), 0u);
  EXPECT_EQ(bits.free_at_front(), kPageGranules);
  EXPECT_EQ(bits.free_at_back(), kPageGranules);
}

TEST(GranuleBits, CanAllBeUsed) {
  GranuleBits bits{};
  bits.set(0, kPageGranules);
  EXPECT_FALSE(bits.none());
  EXPECT_EQ(bits.next_free(0), kPageGranules);
  EXPECT_EQ(bits.free_at_back(), 0u);
}

TEST(GranuleBits, AgreeWithABitset) {
  tests::SeededRandom random;
  GranuleBits bits{};
  std::bitset<kPageGranules + 1> plain;
  for (int i = 0; i < 2000; ++i) {
    const auto begin = static_cast<uint32_t>(random.below(kPageGranules));
    const auto end = begin + static_cast<uint32_t>(random.below(kPageGranules + 1 - begin));
    const bool is_set = random.chance(2);
    is_set ? bits.set(begin, end) : bits.clear(begin, end);
    for (uint32_t at = begin; at < end; ++at) plain[at] = is_set;
    for (uint32_t from = 0, used = 0, free = 0; from < kPageGranules; ++from) {
      for (used = from; used < kPageGranules && !plain[used];) ++used;
      for (free = from; free < kPageGranules && plain[free];) ++free;
      ASSERT_EQ(bits.next_used(from), used);
      ASSERT_EQ(bits.next_free(from), free);
    }
    uint32_t back = 0;
    while (back < kPageGranules && !plain[kPageGranules - 1 - back]) ++back;
    ASSERT_EQ(bits.free_at_back(), back);
    ASSERT_EQ(bits.none(), plain.none());
  }
}

}  // namespace
}  // namespace heaptape::allocators::foresight
