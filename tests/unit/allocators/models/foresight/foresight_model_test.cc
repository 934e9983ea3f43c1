#include "allocators/models/foresight/foresight_model.h"

#include <gtest/gtest.h>

namespace heaptape::allocators {
namespace {

using foresight::kNever;

// A heap that places blocks in one way.
class ForesightTest : public testing::Test {
 protected:
  void use(Placing placing) { model_.emplace(space_, placing); }
  // Returns the block's address.
  uint64_t place(uint64_t bytes, uint32_t death = kNever, uint64_t alignment = 0) {
    model_->set_death(now_, death);
    return model_->allocate(bytes, alignment).address;
  }
  uint64_t pages() {
    for (const RegionEvent& event : space_.events()) {
      const uint64_t count = event.range.bytes() / kPageBytes;
      pages_ += event.kind == RegionEvent::Kind::kCommit ? count : -count;
    }
    space_.events().clear();
    return pages_;
  }
  static uint64_t page(uint64_t address) { return page_down(address); }

  AddressSpace space_;
  std::optional<ForesightModel> model_;
  uint32_t now_ = 1;
  uint64_t pages_ = 0;
};

TEST_F(ForesightTest, CommitsAPageOnlyWhileABlockTouchesIt) {
  use(Placing::kFirst);
  const uint64_t first = place(100);
  const uint64_t second = place(100);
  EXPECT_EQ(pages(), 1u);
  model_->release(first);
  EXPECT_EQ(pages(), 1u);
  model_->release(second);
  EXPECT_EQ(pages(), 0u);
}

TEST_F(ForesightTest, LaysBlocksWithoutHeadersSideBySide) {
  use(Placing::kFirst);
  const uint64_t first = place(24);
  EXPECT_EQ(place(1), first + 32);
  EXPECT_EQ(place(0), first + 48);
  EXPECT_EQ(place(16), first + 64);
}

TEST_F(ForesightTest, FillsAPageBeforeItTakesAnother) {
  use(Placing::kFirst);
  for (int i = 0; i < 256; ++i) place(16);
  EXPECT_EQ(pages(), 1u);
  place(16);
  EXPECT_EQ(pages(), 2u);
}

TEST_F(ForesightTest, GoesOnUponANewPageWhereAPageEnds) {
  use(Placing::kFirst);
  const uint64_t first = place(3000);
  EXPECT_EQ(place(3000), first + 3008);
  EXPECT_EQ(place(2000), first + 6016);
  EXPECT_EQ(pages(), 2u);
}

TEST_F(ForesightTest, UsesAHoleAcrossTwoPages) {
  use(Placing::kFirst);
  place(3072);
  const uint64_t middle = place(2048);
  place(3072);
  model_->release(middle);
  EXPECT_EQ(place(2048), middle);
  EXPECT_EQ(pages(), 2u);
}

TEST_F(ForesightTest, PutsTheRestOfALargeBlockUponAPageThatIsThere) {
  use(Placing::kFirst);
  place(1024);
  place(10 * kPageBytes + 3072);
  EXPECT_EQ(pages(), 11u);
}

TEST_F(ForesightTest, UsesAHoleWhosePagesWentInBetween) {
  use(Placing::kFirst);
  place(16);
  const uint64_t middle = place(2 * kPageBytes + 16);
  place(16);
  EXPECT_EQ(pages(), 3u);
  model_->release(middle);
  EXPECT_EQ(pages(), 2u);
  EXPECT_EQ(place(2 * kPageBytes + 16), middle);
}

TEST_F(ForesightTest, SeesThatAPageFurtherOnIsFreeAgain) {
  use(Placing::kFirst);
  const uint64_t first = place(16);
  const uint64_t alone = place(kPageBytes, kNever, kPageBytes);
  EXPECT_EQ(place(16), first + 16);
  model_->release(alone);
  EXPECT_EQ(place(5 * kPageBytes), first + 32);
}

TEST_F(ForesightTest, FitTakesTheTightestRun) {
  use(Placing::kFit);
  std::vector<uint64_t> blocks;
  for (const uint64_t bytes : {512, 64, 256, 64, 128, 64, 3008}) blocks.push_back(place(bytes));
  for (const int i : {0, 2, 4}) model_->release(blocks[i]);
  EXPECT_EQ(place(256), blocks[2]);
  EXPECT_EQ(place(100), blocks[4]);
  EXPECT_EQ(place(300), blocks[0]);
}

TEST_F(ForesightTest, DeathsPrefersThePageThatDiesSoonestAfterTheBlock) {
  use(Placing::kDeaths);
  const uint64_t late = place(2048, 900, kPageBytes);
  const uint64_t soon = place(2100, 100, kPageBytes);
  EXPECT_EQ(page(place(64, 90)), page(soon));
  EXPECT_EQ(page(place(64, 200)), page(late));
}

TEST_F(ForesightTest, DeathsKnowsThatAPageDiesWithTheLastOfItsBlocks) {
  use(Placing::kDeaths);
  const uint64_t late = place(2048, 900, kPageBytes);
  EXPECT_EQ(page(place(64, 100)), page(late));
  place(2112, 200, kPageBytes);
  EXPECT_EQ(page(place(64, 500)), page(late));
}

TEST_F(ForesightTest, DeathsMakesThePageLiveLongerThatDiesLatest) {
  use(Placing::kDeaths);
  const uint64_t late = place(2048, 900, kPageBytes);
  place(2048, 100, kPageBytes);
  EXPECT_EQ(page(place(64, 1000)), page(late));
}

TEST_F(ForesightTest, BoxesKeepsBlocksApartThatDieAtVeryDifferentTimes) {
  use(Placing::kBoxes);
  const uint64_t soon = place(64, 100);
  const uint64_t late = place(64, 1000);
  EXPECT_EQ(page(place(64, 120)), page(soon));
  EXPECT_EQ(page(place(64, 800)), page(late));
  EXPECT_NE(page(place(64, kNever)), page(late));
  EXPECT_EQ(pages(), 3u);
}

TEST_F(ForesightTest, PlacesAResizedBlockWhereItsOldPlaceIsFree) {
  use(Placing::kFirst);
  const uint64_t block = place(100 * kPageBytes);
  pages();
  EXPECT_EQ(model_->reallocate(block, 101 * kPageBytes).usable_bytes, 101 * kPageBytes);
  EXPECT_EQ(space_.events().front().kind, RegionEvent::Kind::kDecommit);
  EXPECT_EQ(pages(), 101u);
}

TEST_F(ForesightTest, AlignsBlocks) {
  use(Placing::kFit);
  for (uint64_t alignment = 1; alignment <= 1 << 21; alignment *= 2) {
    place(24);
    EXPECT_EQ(place(100, kNever, alignment) % alignment, 0u);
  }
}

TEST_F(ForesightTest, RefusesWhatNoAddressSpaceHolds) {
  use(Placing::kFirst);
  const uint64_t block = place(100);
  EXPECT_EQ(place(uint64_t{1} << 47), 0u);
  EXPECT_EQ(place(100, kNever, uint64_t{1} << 47), 0u);
  EXPECT_EQ(model_->reallocate(block, uint64_t{1} << 47).address, 0u);
  EXPECT_EQ(model_->reallocate(block, kWrapperBase - kModelBase - 1).address, 0u);
  model_->release(block);
  EXPECT_EQ(pages(), 0u);
}

TEST_F(ForesightTest, CostsLittleForBlocksLargerThanAnyMemory) {
  use(Placing::kDeaths);
  const uint64_t block = place(uint64_t{1} << 44);
  EXPECT_EQ(pages(), uint64_t{1} << 32);
  model_->release(block);
  EXPECT_EQ(pages(), 0u);
}

TEST(ForesightBackend, ReplaysWhatHadTheLowestPeak) {
  // Blocks that live short and long by turns: only where they lie apart do pages come back.
  std::vector<ReplayOp> ops;
  std::vector<uint32_t> deaths;
  for (uint32_t i = 0; i < 512; ++i) {
    ops.push_back({.kind = ReplayKind::kMalloc, .slot = i, .size = 2048});
    deaths.push_back(i % 2 == 0 ? 513 + i / 2 : kNever);
  }
  for (uint32_t i = 0; i < 512; i += 2) {
    ops.push_back({.kind = ReplayKind::kFree, .slot = i, .size = 2048});
    deaths.push_back(0);
  }
  ops.push_back({.kind = ReplayKind::kMalloc, .slot = 0, .size = 100 * kPageBytes});
  deaths.push_back(kNever);
  ForesightBackend backend{base::Values(ForesightBackend::parameters())};
  ReplayBatch batch{0, 512, ops, {}, {}};
  batch.deaths.ticks = deaths;
  ASSERT_TRUE(backend.start().ok() && backend.rehearse(batch).ok() && backend.submit(batch).ok());
  ASSERT_EQ(backend.notes().size(), 1u);
  EXPECT_NE(backend.notes()[0].find("placing=boxes has"), std::string::npos) << backend.notes()[0];
}

}  // namespace
}  // namespace heaptape::allocators
