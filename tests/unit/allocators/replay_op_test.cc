#include "allocators/replay_op.h"

#include <gtest/gtest.h>

namespace heaptape::allocators {
namespace {

uint64_t first_new_byte_of_resize(uint64_t old_bytes, uint64_t bytes) {
  return first_new_byte(
      {.kind = ReplayKind::kRealloc, .log2 = growth_log2(old_bytes, bytes), .size = bytes});
}

TEST(FirstNewByte, IsTheFirstOfANewBlock) {
  EXPECT_EQ(first_new_byte({.kind = ReplayKind::kMalloc, .size = 100}), 0u);
  EXPECT_EQ(first_new_byte({.kind = ReplayKind::kMemalign, .log2 = 6, .size = 100}), 0u);
}

TEST(FirstNewByte, LeavesNothingThatAResizeGainsOut) {
  for (uint64_t old_bytes = 0; old_bytes < 300; ++old_bytes) {
    for (uint64_t bytes = old_bytes + 1; bytes < 700; ++bytes) {
      const uint64_t first = first_new_byte_of_resize(old_bytes, bytes);
      ASSERT_LE(first, old_bytes) << bytes;
      ASSERT_LT(old_bytes - first, bytes - old_bytes) << bytes;
    }
  }
}

TEST(FirstNewByte, IsTheEndWhereAResizeGainsNothing) {
  EXPECT_EQ(first_new_byte_of_resize(100, 100), 100u);
  EXPECT_EQ(first_new_byte_of_resize(100, 1), 1u);
}

TEST(FirstNewByte, IsTheFirstOfABlockLargerThanAnyPowerOfTwo) {
  EXPECT_EQ(first_new_byte_of_resize(0, UINT64_MAX), UINT64_MAX - (uint64_t{1} << 63));
  EXPECT_EQ(first_new_byte_of_resize(0, uint64_t{1} << 63), 0u);
}

}  // namespace
}  // namespace heaptape::allocators
