#include "base/address/edge_bitmap.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/sizes.h"

namespace heaptape::base {
namespace {

using tests::kGiB;

class EdgeBitmapTest : public testing::TestWithParam<int> {
 protected:
  // The granules of a block as edges.
  Edge start(uint64_t address) const { return edges_.start_at(address); }
  Edge end(uint64_t address) const { return edges_.start_at(address - 1) + 1; }

  EdgeBitmap edges_{GetParam()};
};

TEST_P(EdgeBitmapTest, MapsEdgesToTheAddressesTheyDivide) {
  EXPECT_EQ(edges_.address_of(start(0x10000)), 0x10000u);
  EXPECT_EQ(edges_.address_of(end(0x10040)), 0x10040u);
}

TEST_P(EdgeBitmapTest, IsFreeFromEndToEndWhenEmpty) {
  EXPECT_EQ(edges_.find_before(start(0x10000)), kBeforeAllEdges);
  EXPECT_EQ(edges_.find_from(start(0x10000)), kAfterAllEdges);
  EXPECT_TRUE(is_free_between(kBeforeAllEdges, kAfterAllEdges));
  EXPECT_EQ(edges_.address_of(kBeforeAllEdges), 0u);
  EXPECT_GE(edges_.address_of(kAfterAllEdges), kAddressLimit);
}

TEST_P(EdgeBitmapTest, FindsAcrossGigabytesOfNothing) {
  edges_.insert(start(5 * kGiB));
  edges_.insert(start(3000 * kGiB));
  EXPECT_EQ(edges_.find_from(start(5 * kGiB) + 1), start(3000 * kGiB));
  EXPECT_EQ(edges_.find_before(start(3000 * kGiB)), start(5 * kGiB));
  EXPECT_EQ(edges_.find_from(start(40 * kGiB)), start(3000 * kGiB));
  EXPECT_EQ(edges_.find_before(start(40 * kGiB)), start(5 * kGiB));
}

TEST_P(EdgeBitmapTest, FindsPastALeafThatBecameEmpty) {
  edges_.insert(start(kGiB));
  edges_.insert(start(2 * kGiB));
  edges_.insert(start(3 * kGiB));
  edges_.erase(start(2 * kGiB));
  EXPECT_EQ(edges_.find_from(start(kGiB) + 1), start(3 * kGiB));
  EXPECT_EQ(edges_.find_before(start(3 * kGiB)), start(kGiB));
}

// Blocks one behind the other, in several leaves, with a gap here and there.
TEST_P(EdgeBitmapTest, FindsGapsBehindBlocksWithoutAny) {
  const auto block = [this](uint64_t begin, uint64_t end_address) {
    edges_.insert(start(begin));
    edges_.insert(end(end_address));
  };
  block(0x10000, 0x10040);
  block(0x10040, 0x10080);
  block(0x10080, 0x10100);
  block(0x20000, 0x20040);
  block(kGiB, kGiB + 0x40);
  EXPECT_EQ(edges_.find_gap(0, kAfterAllEdges), end(0x10100));
  EXPECT_EQ(edges_.find_gap(end(0x10100), kAfterAllEdges), end(0x10100));
  EXPECT_EQ(edges_.find_gap(end(0x10100) + 1, kAfterAllEdges), end(0x20040));
  EXPECT_EQ(edges_.find_gap(start(0x30000), kAfterAllEdges), end(kGiB + 0x40));
  EXPECT_EQ(edges_.find_gap(start(kGiB / 2), kAfterAllEdges), end(kGiB + 0x40));
  EXPECT_EQ(edges_.find_gap(start(kGiB + 0x80), kAfterAllEdges), kAfterAllEdges);
  EXPECT_EQ(edges_.find_gap(kAfterAllEdges, kAfterAllEdges), kAfterAllEdges);
}

TEST_P(EdgeBitmapTest, FindsNoGapAtItsLimitOrBehind) {
  edges_.insert_block(start(0x10000), end(0x10040));
  edges_.insert_block(start(kGiB), end(kGiB + 0x40));
  EXPECT_EQ(edges_.find_gap(0, end(0x10040)), kAfterAllEdges);
  EXPECT_EQ(edges_.find_gap(0, end(0x10040) + 1), end(0x10040));
  EXPECT_EQ(edges_.find_gap(end(0x10040) + 1, end(kGiB + 0x40)), kAfterAllEdges);
  EXPECT_EQ(edges_.find_gap(start(kGiB), end(kGiB + 0x40)), kAfterAllEdges);
  EXPECT_EQ(edges_.find_gap(start(kGiB), start(kGiB)), kAfterAllEdges);
}

TEST_P(EdgeBitmapTest, InsertsABlockAndTellsItsGap) {
  edges_.insert_block(start(0x10000), end(0x10040));
  edges_.insert_block(start(0x20000), end(0x20040));
  const auto gap = edges_.insert_block(start(0x18000), end(0x18040));
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->before, end(0x10040));
  EXPECT_EQ(gap->after, start(0x20000));
  EXPECT_TRUE(edges_.contains(start(0x18000)));
  EXPECT_TRUE(edges_.contains(end(0x18040)));
}

TEST_P(EdgeBitmapTest, ErasesABlockAndTellsTheGapItLeaves) {
  edges_.insert_block(start(0x10000), end(0x10040));
  edges_.insert_block(start(0x10040), end(0x10080));
  const auto gap = edges_.erase_block(start(0x10000), end(0x10040));
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->before, kBeforeAllEdges);
  EXPECT_EQ(gap->after, start(0x10040));
  EXPECT_FALSE(edges_.contains(start(0x10000)));
}

TEST_P(EdgeBitmapTest, MovesTheEndOfABlockBothWays) {
  edges_.insert_block(start(0x10000), end(0x10040));
  edges_.insert_block(start(0x20000), end(0x20040));
  EXPECT_EQ(edges_.move_end(end(0x10040), end(0x20000)), start(0x20000));
  EXPECT_EQ(edges_.move_end(end(0x20000), end(0x10010)), start(0x20000));
  EXPECT_EQ(edges_.find_from(start(0x10000) + 1), end(0x10010));
}

TEST_P(EdgeBitmapTest, RefusesABlockThatMeetsAnother) {
  edges_.insert_block(start(0x10000), end(0x10040));
  EXPECT_FALSE(edges_.insert_block(start(0xff00), end(0x10010)));
  EXPECT_FALSE(edges_.insert_block(start(0x10010), end(0x10020)));
  EXPECT_FALSE(edges_.insert_block(start(0x10000), end(0x10040)));
  EXPECT_FALSE(edges_.insert_block(start(0xff00), end(0x10100)));
  EXPECT_FALSE(edges_.contains(start(0xff00)));
}

TEST_P(EdgeBitmapTest, RefusesToEraseABlockThatIsNotThere) {
  edges_.insert_block(start(0x10000), end(0x10040));
  EXPECT_FALSE(edges_.erase_block(start(0x10000), end(0x10020)));
  EXPECT_FALSE(edges_.erase_block(start(0x20000), end(0x20020)));
  EXPECT_TRUE(edges_.contains(start(0x10000)));
}

TEST_P(EdgeBitmapTest, RefusesToMoveAnEndBeyondItsBlock) {
  edges_.insert_block(start(0x10000), end(0x10040));
  edges_.insert_block(start(0x10080), end(0x100c0));
  EXPECT_FALSE(edges_.move_end(end(0x10040), end(0x100a0)));
  EXPECT_FALSE(edges_.move_end(end(0x100c0), end(0x10060)));
  EXPECT_FALSE(edges_.move_end(end(0x10020), end(0x10060)));
}

TEST_P(EdgeBitmapTest, ScansAllLeavesInOrder) {
  const std::vector<Edge> all = {start(64), start(kGiB), end(kGiB + 64), start(900 * kGiB)};
  for (const Edge edge : all) edges_.insert(edge);
  std::vector<Edge> seen;
  edges_.scan([&seen](Edge edge) { seen.push_back(edge); });
  EXPECT_EQ(seen, all);
}

INSTANTIATE_TEST_SUITE_P(Granules, EdgeBitmapTest, testing::Values(3, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace heaptape::base
