// Holes that border on unseen memory, in a heap of which the beginning is missing.
#include <gtest/gtest.h>

#include <utility>

#include "replayer/answers/account.h"
#include "replayer/answers/holes.h"
#include "replayer/answers/pins.h"

namespace heaptape::replayer {
namespace {

using base::AddressRange;

constexpr uint64_t kOpenHeap = 0x10000;

// Blocks of 256 bytes at 0 and 0x2000; unseen memory from 0x1000 to 0x1800. So there are two
// open holes, one on each side of it.
class OpenHoles : public testing::Test {
 protected:
  OpenHoles() {
    picture_.at = 10;
    picture_.regions = {{kOpenHeap, kOpenHeap + 0x4000}};
    picture_.blocks = {{kOpenHeap, 256, 256, 1}, {kOpenHeap + 0x2000, 256, 256, 2}};
    picture_.unseen = {{{kOpenHeap + 0x1000, kOpenHeap + 0x1800}}};
    holes_ = find_holes(picture_);
  }

  HeapPicture picture_;
  std::vector<Hole> holes_;
};

TEST_F(OpenHoles, EndWhereUnseenMemoryBegins) {
  ASSERT_EQ(holes_.size(), 2u);
  EXPECT_EQ(holes_[0].range, (AddressRange{kOpenHeap + 0x100, kOpenHeap + 0x1000}));
  EXPECT_EQ(holes_[1].range, (AddressRange{kOpenHeap + 0x1800, kOpenHeap + 0x2000}));
}

TEST_F(OpenHoles, NameNoBlockOnTheUnseenSide) {
  ASSERT_EQ(holes_.size(), 2u);
  EXPECT_EQ(holes_[0].before, 0u);
  EXPECT_EQ(holes_[0].after, kNoBlock);
  EXPECT_TRUE(holes_[0].unseen.after);
  EXPECT_FALSE(holes_[0].unseen.before);
  EXPECT_EQ(holes_[1].before, kNoBlock);
  EXPECT_EQ(holes_[1].after, 1u);
  EXPECT_TRUE(holes_[1].unseen.before);
}

TEST_F(OpenHoles, HaveNoPin) {
  for (const Hole& hole : holes_) EXPECT_EQ(pin_of(picture_, hole).block, kNoBlock);
}

TEST_F(OpenHoles, ArePinnedInHalfByTheBlockThatIsKnown) {
  const std::vector<PinningBlock> pins = pinning_blocks(picture_);
  ASSERT_EQ(pins.size(), 2u);
  EXPECT_EQ(pins[0].bytes, 0xf00u / 2);
  EXPECT_EQ(pins[1].bytes, 0x800u / 2);
}

// Freeing the block would join the hole only with what is known to be free.
TEST_F(OpenHoles, LimitTheFreeMemoryAroundABlock) {
  picture_.unseen = {
      {{kOpenHeap + 0x1000, kOpenHeap + 0x1800}, {kOpenHeap + 0x2200, kOpenHeap + 0x4000}}};
  picture_.blocks[1].usable_bytes = 16;
  const uint64_t pages = bytes_behind_pin(picture_, 1);
  EXPECT_EQ(pages, 0u) << "no whole page from 0x1800 to 0x2200 is free without it";
}

TEST_F(OpenHoles, AreCountedInTheAccount) {
  HeapMap map(4, 32);
  map.commit(picture_.regions[0]);
  for (const LiveBlock& block : picture_.blocks) map.place(block.address, block.usable_bytes);
  map.place(kOpenHeap + 0x1000, 0x800);  // as UnseenMemory has it
  const Account account = take_account(map, {512, 512, 0}, {}, {}, {}, picture_.unseen);
  EXPECT_EQ(account.late, (LateStart{0x800, 2, 0xf00 + 0x800}));
  EXPECT_EQ(account.hole_bytes, 0xf00u + 0x800u);
  EXPECT_EQ(account.unexplained_bytes, 0);
}

TEST_F(OpenHoles, AreNotThoseBetweenTwoKnownBlocks) {
  picture_.unseen = {{{kOpenHeap + 0x3000, kOpenHeap + 0x4000}}};
  const std::vector<Hole> holes = find_holes(picture_);
  ASSERT_EQ(holes.size(), 2u);
  EXPECT_FALSE(holes[0].is_open());
  EXPECT_EQ(pin_of(picture_, holes[0]).block, 1u) << "more is free behind it";
  EXPECT_TRUE(holes[1].is_open()) << "what would be the top";
}

}  // namespace
}  // namespace heaptape::replayer
