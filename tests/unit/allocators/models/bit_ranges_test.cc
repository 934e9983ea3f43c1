#include "allocators/models/bit_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>

#include "tests/support/seeded_random.h"

namespace heaptape::allocators {
namespace {

constexpr uint32_t kSize = 256;
using Bits = BitRanges<kSize>;

TEST(BitRanges, AreEmptyWhenTheirBytesAreZero) {
  const Bits bits{};
  EXPECT_TRUE(bits.none());
  EXPECT_EQ(bits.next(0, true), kSize);
  EXPECT_EQ(bits.next(0, false), 0u);
  EXPECT_EQ(bits.last_end(kSize, true), 0u);
  EXPECT_EQ(bits.last_end(kSize, false), kSize);
}

TEST(BitRanges, CanBeFull) {
  Bits bits{};
  bits.set(0, kSize);
  EXPECT_FALSE(bits.none());
  EXPECT_EQ(bits.next(0, false), kSize);
  EXPECT_EQ(bits.last_end(kSize, false), 0u);
}

TEST(BitRanges, CountWhatTheyClear) {
  Bits bits{};
  bits.set(10, 110);
  EXPECT_EQ(bits.clear(0, 20), 10u);
  EXPECT_EQ(bits.clear(0, kSize), 90u);
  EXPECT_TRUE(bits.none());
}

TEST(BitRanges, FindRangesThatCrossWordsFromBothSides) {
  Bits bits{};
  bits.set(60, 200);
  EXPECT_EQ(bits.next(0, true), 60u);
  EXPECT_EQ(bits.next(60, false), 200u);
  EXPECT_EQ(bits.last_end(kSize, true), 200u);
  EXPECT_EQ(bits.last_end(200, false), 60u);
}

// Half of the ranges begin or end where a word does.
TEST(BitRanges, AgreeWithABitset) {
  tests::SeededRandom random;
  Bits bits{};
  std::bitset<kSize> plain;
  const auto limit = [&random] {
    const auto at = static_cast<uint32_t>(random.below(kSize + 1));
    return random.chance(2) ? at / 64 * 64 : at;
  };
  for (int i = 0; i < 2000; ++i) {
    const uint32_t begin = limit();
    const uint32_t end = std::max(begin, limit());
    const bool is_set = random.chance(2);
    uint32_t were_set = 0;
    for (uint32_t at = begin; at < end; ++at) {
      were_set += plain[at];
      plain[at] = is_set;
    }
    if (is_set) {
      bits.set(begin, end);
    } else {
      ASSERT_EQ(bits.clear(begin, end), were_set);
    }
    ASSERT_EQ(bits.none(), plain.none());
    for (const bool value : {false, true}) {
      uint32_t last_end = 0;
      for (uint32_t at = 0; at <= kSize; ++at) {
        ASSERT_EQ(bits.last_end(at, value), last_end);
        if (at < kSize && plain[at] == value) last_end = at + 1;
      }
      uint32_t next = kSize;
      for (uint32_t at = kSize; at-- > 0;) {
        if (plain[at] == value) next = at;
        ASSERT_EQ(bits.next(at, value), next);
      }
    }
  }
}

}  // namespace
}  // namespace heaptape::allocators
