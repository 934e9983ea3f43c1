#include "replayer/metrics/growth_chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace heaptape::replayer {
namespace {

class AGrowthChain : public testing::Test {
 protected:
  // The block that call 10 of thread 3 asked for.
  void resize(uint64_t old_bytes, uint64_t new_bytes, bool moved = true) {
    chain_ = chains_.on_resize(chain_, 10, 3, {old_bytes, new_bytes, moved});
  }
  void release() { chains_.on_release(std::exchange(chain_, GrowthChains::kNone)); }
  GrowthChain only() {
    chains_.finish();
    EXPECT_EQ(chains_.costliest().size(), 1u);
    return chains_.costliest().at(0);
  }

  GrowthChains chains_;
  uint32_t chain_ = GrowthChains::kNone;
};

TEST_F(AGrowthChain, CopiesWhatItsMovesCopy) {
  resize(100, 200);
  resize(200, 300, false);
  resize(300, 400);
  EXPECT_EQ(only().copied_bytes, 400u);
  EXPECT_EQ(chains_.copied_bytes(), 400u);
}

TEST_F(AGrowthChain, KnowsItsBlock) {
  resize(100, 200);
  resize(200, 300);
  const GrowthChain chain = only();
  EXPECT_EQ(chain.birth, 10u);
  EXPECT_EQ(chain.thread, 3u);
  EXPECT_EQ(chain.from_bytes, 100u);
  EXPECT_EQ(chain.to_bytes, 300u);
  EXPECT_EQ(chain.length, 2u);
}

TEST_F(AGrowthChain, IsNoOneResize) {
  resize(100, 200);
  resize(200, 150);
  chains_.finish();
  EXPECT_EQ(chains_.count(), 0u);
  EXPECT_TRUE(chains_.longest().empty());
}

TEST_F(AGrowthChain, GoesOnBehindAShrink) {
  resize(100, 200);
  resize(200, 50);
  resize(50, 60);
  const GrowthChain chain = only();
  EXPECT_EQ(chain.length, 2u);
  EXPECT_EQ(chain.to_bytes, 200u);
  EXPECT_EQ(chain.copied_bytes, 200u);
}

TEST_F(AGrowthChain, EndsWithItsBlock) {
  resize(100, 200);
  release();
  resize(100, 200);
  chains_.finish();
  EXPECT_EQ(chains_.count(), 0u);
}

TEST_F(AGrowthChain, CountsBeforeTheEndOfTheTapeOnceItsBlockIsGone) {
  resize(100, 200);
  resize(200, 300);
  release();
  EXPECT_EQ(chains_.count(), 1u);
  EXPECT_EQ(chains_.growths(), 2u);
}

TEST_F(AGrowthChain, LeavesNothingToTheBlockThatComesNext) {
  resize(100, 200);
  resize(200, 300);
  release();
  resize(10, 20);
  release();
  chains_.finish();
  EXPECT_EQ(chains_.count(), 1u);
  EXPECT_EQ(chains_.growths(), 2u);
}

TEST(GrowthChains, TakeNoMoreRoomThanThereAreBlocks) {
  GrowthChains chains;
  const uint32_t first = chains.on_resize(GrowthChains::kNone, 1, 0, {1, 2, false});
  const uint32_t second = chains.on_resize(GrowthChains::kNone, 2, 0, {1, 2, false});
  EXPECT_NE(first, second);
  chains.on_release(first);
  EXPECT_EQ(chains.on_resize(GrowthChains::kNone, 3, 0, {1, 2, false}), first);
}

TEST(GrowthChains, CountResizesOfAllBlocks) {
  GrowthChains chains;
  chains.on_resize(GrowthChains::kNone, 1, 0, {100, 80, true});
  const uint32_t chain = chains.on_resize(GrowthChains::kNone, 2, 0, {100, 300, true});
  chains.on_resize(chain, 2, 0, {300, 400, false});
  EXPECT_EQ(chains.in_place(), 1u);
  EXPECT_EQ(chains.moved(), 2u);
  EXPECT_EQ(chains.moved_bytes(), 180u);
}

// Chain i, of kNamed + 5, has i + 2 growths, all by a byte; odd ones move, from 1,000 bytes on.
GrowthChains many_chains() {
  GrowthChains chains;
  for (uint32_t i = 0; i < GrowthChains::kNamed + 5; ++i) {
    uint32_t chain = GrowthChains::kNone;
    for (uint64_t growth = 0; growth < i + 2; ++growth) {
      chain = chains.on_resize(chain, i + 1, 0, {1000 + growth, 1001 + growth, i % 2 == 1});
    }
    chains.on_release(chain);
  }
  return chains;
}

TEST(GrowthChains, NameTheLongestOnesInOrder) {
  const GrowthChains chains = many_chains();
  ASSERT_EQ(chains.longest().size(), GrowthChains::kNamed);
  for (size_t i = 0; i < GrowthChains::kNamed; ++i) EXPECT_EQ(chains.longest()[i].birth, 15 - i);
}

TEST(GrowthChains, NameTheCostliestOnesInOrder) {
  const GrowthChains chains = many_chains();
  ASSERT_EQ(chains.costliest().size(), GrowthChains::kNamed);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(chains.costliest()[i].birth, 14 - 2 * i);
  EXPECT_EQ(chains.costliest()[7].birth, 15u);
}

TEST(GrowthChains, NameTheFirstOfThoseThatAreAlike) {
  GrowthChains chains;
  for (uint32_t i = 0; i < 20; ++i) {
    uint32_t chain = GrowthChains::kNone;
    for (int growth = 0; growth < 2; ++growth) {
      chain = chains.on_resize(chain, i + 1, 0, {10, 20, true});
    }
    chains.on_release(chain);
  }
  ASSERT_EQ(chains.costliest().size(), GrowthChains::kNamed);
  EXPECT_EQ(chains.costliest().front().birth, 1u);
  EXPECT_EQ(chains.costliest().back().birth, 10u);
}

// Whichever ends first.
TEST(GrowthChains, NameTheFirstOfThoseThatAreAlikeInOrder) {
  GrowthChains chains;
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < 20; ++i) {
    const uint32_t chain = chains.on_resize(GrowthChains::kNone, i + 1, 0, {10, 20, true});
    open.push_back(chains.on_resize(chain, i + 1, 0, {10, 20, true}));
  }
  std::ranges::reverse(open);
  for (const uint32_t chain : open) chains.on_release(chain);
  for (const auto& named : {chains.costliest(), chains.longest()}) {
    ASSERT_EQ(named.size(), GrowthChains::kNamed);
    for (size_t i = 0; i < named.size(); ++i) EXPECT_EQ(named[i].birth, i + 1);
  }
}

}  // namespace
}  // namespace heaptape::replayer
