// A set of pages, by stretches.
#include "allocators/models/runs/page_bits.h"

#include <gtest/gtest.h>

namespace heaptape::allocators::runs {
namespace {

class PageBitsTest : public testing::Test {
 protected:
  PageBits bits_{};
};

TEST_F(PageBitsTest, IsEmptyWhenItsBytesAreZero) {
  EXPECT_EQ(bits_.next(0, true), kChunkPages);
  EXPECT_EQ(bits_.last_end(kChunkPages, true), 0u);
}

TEST_F(PageBitsTest, FindsAStretchThatCrossesWordsFromBothSides) {
  bits_.set(60, 140);
  EXPECT_EQ(bits_.next(0, true), 60u);
  EXPECT_EQ(bits_.next(60, false), 200u);
  EXPECT_EQ(bits_.last_end(kChunkPages, true), 200u);
  EXPECT_EQ(bits_.last_end(200, false), 60u);
}

TEST_F(PageBitsTest, FindsStretchesThatEndWhereWordsEnd) {
  bits_.set(64, 64);
  bits_.set(192, 64);
  EXPECT_EQ(bits_.next(192, false), kChunkPages);
  EXPECT_EQ(bits_.last_end(192, true), 128u);
  EXPECT_EQ(bits_.last_end(128, false), 64u);
  EXPECT_EQ(bits_.last_end(64, true), 0u);
}

TEST_F(PageBitsTest, CountsWhatItClears) {
  bits_.set(10, 100);
  EXPECT_EQ(bits_.clear(0, 20), 10u);
  EXPECT_EQ(bits_.clear(0, kChunkPages), 90u);
  EXPECT_EQ(bits_.next(0, true), kChunkPages);
}

}  // namespace
}  // namespace heaptape::allocators::runs
