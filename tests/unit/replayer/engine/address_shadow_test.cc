#include "replayer/engine/address_shadow.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptape::replayer {
namespace {

constexpr uint64_t kHeap = 0x555555559000;
constexpr uint32_t kNoSlot = AddressShadow::kNoSlot;

TEST(AddressShadow, FindsTheSlotOfABlock) {
  AddressShadow shadow;
  shadow.set(kHeap, 7);
  EXPECT_EQ(shadow.find(kHeap), 7u);
}

TEST(AddressShadow, FindsNothingWhereNoBlockEverWas) {
  const AddressShadow empty;
  for (const uint64_t address : {uint64_t{8}, uint64_t{3}, kHeap, base::kAddressLimit - 16}) {
    EXPECT_EQ(empty.find(address), kNoSlot) << std::hex << address;
  }
}

TEST(AddressShadow, FindsNothingInTheMiddleOfABlock) {
  AddressShadow shadow;
  shadow.set(kHeap, 0);
  for (uint64_t offset = 1; offset <= 32; ++offset) {
    EXPECT_EQ(shadow.find(kHeap + offset), kNoSlot) << offset;
  }
}

TEST(AddressShadow, TellsNeighboursApart) {
  AddressShadow shadow;
  shadow.set(kHeap, 1);
  shadow.set(kHeap + 16, 2);
  shadow.clear(kHeap);
  EXPECT_EQ(shadow.find(kHeap), kNoSlot);
  EXPECT_EQ(shadow.find(kHeap + 16), 2u);
}

TEST(AddressShadow, TellsTheSamePlaceInDifferentLeavesApart) {
  AddressShadow shadow;
  const uint64_t last = base::kAddressLimit - base::kLeafSpan;
  const std::vector<uint64_t> addresses = {0, base::kLeafSpan, base::kLeafSpan << 15,
                                           uint64_t{1} << 47, last};
  for (uint32_t slot = 0; slot < addresses.size(); ++slot) shadow.set(addresses[slot], slot);
  for (uint32_t slot = 0; slot < addresses.size(); ++slot) {
    EXPECT_EQ(shadow.find(addresses[slot]), slot);
  }
}

TEST(AddressShadow, HoldsTheGreatestSlotThereIs) {
  AddressShadow shadow;
  shadow.set(kHeap, kNoSlot - 1);
  EXPECT_EQ(shadow.find(kHeap), kNoSlot - 1);
}

TEST(AddressShadow, TakesTheLastAddressesThereAre) {
  AddressShadow shadow;
  shadow.refine({});
  shadow.set(base::kAddressLimit - 8, 1);
  shadow.set(base::kAddressLimit - 1, 2);
  EXPECT_EQ(shadow.find(base::kAddressLimit - 8), 1u);
  EXPECT_EQ(shadow.find(base::kAddressLimit - 1), 2u);
}

TEST(AddressShadow, FitsOddMultiplesOfEightOnlyOnceRefined) {
  AddressShadow shadow;
  EXPECT_TRUE(shadow.fits(kHeap));
  EXPECT_FALSE(shadow.fits(kHeap + 8));
  shadow.refine({});
  EXPECT_TRUE(shadow.fits(kHeap + 8));
}

TEST(AddressShadow, KeepsItsBlocksWhenRefined) {
  AddressShadow shadow;
  const std::vector<SlotBlock> blocks = {{kHeap, 10}, {0, 0}, {kHeap + 16, 10}, {kHeap + 35, 1}};
  for (const uint32_t slot : {0u, 2u, 3u}) shadow.set(blocks[slot].address, slot);
  shadow.refine(blocks);
  for (const uint32_t slot : {0u, 2u, 3u}) EXPECT_EQ(shadow.find(blocks[slot].address), slot);
}

TEST(AddressShadow, TellsNeighboursEightBytesApartOnceRefined) {
  AddressShadow shadow;
  shadow.refine({});
  for (uint32_t slot = 0; slot < 8; ++slot) shadow.set(kHeap + slot * 8, slot);
  for (uint32_t slot = 0; slot < 8; ++slot) EXPECT_EQ(shadow.find(kHeap + slot * 8), slot);
}

TEST(AddressShadow, TakesBlocksOfAnyAlignment) {
  AddressShadow shadow;
  for (uint32_t offset = 1; offset < 8; ++offset) {
    EXPECT_TRUE(shadow.fits(kHeap + offset));
    shadow.set(kHeap + offset, offset);
  }
  for (uint32_t offset = 1; offset < 8; ++offset) EXPECT_EQ(shadow.find(kHeap + offset), offset);
  shadow.clear(kHeap + 3);
  EXPECT_EQ(shadow.find(kHeap + 3), kNoSlot);
}

}  // namespace
}  // namespace heaptape::replayer
