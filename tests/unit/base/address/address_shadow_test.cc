#include "base/address/address_shadow.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/tapes.h"

namespace heaptape::base {
namespace {

constexpr uint64_t kHeap = 0x555555559000;
constexpr uint32_t kNone = AddressShadow::kNone;

TEST(AddressShadow, FindsTheSlotOfABlock) {
  AddressShadow shadow;
  shadow.set(kHeap, 7);
  EXPECT_EQ(shadow.find(kHeap), 7u);
}

TEST(AddressShadow, FindsNothingWhereNoBlockEverWas) {
  const AddressShadow empty;
  for (const uint64_t address : {uint64_t{8}, uint64_t{3}, kHeap, kAddressLimit - 16}) {
    EXPECT_EQ(empty.find(address), kNone) << std::hex << address;
  }
}

TEST(AddressShadow, FindsNothingInTheMiddleOfABlock) {
  AddressShadow shadow;
  shadow.set(kHeap, 0);
  for (uint64_t offset = 1; offset <= 32; ++offset) {
    EXPECT_EQ(shadow.find(kHeap + offset), kNone) << offset;
  }
}

TEST(AddressShadow, TellsNeighboursApart) {
  AddressShadow shadow;
  shadow.set(kHeap, 1);
  shadow.set(kHeap + 16, 2);
  shadow.clear(kHeap);
  EXPECT_EQ(shadow.find(kHeap), kNone);
  EXPECT_EQ(shadow.find(kHeap + 16), 2u);
}

// Of every alignment, known or not.
TEST(AddressShadow, TakesWhatFindFinds) {
  for (const uint64_t address : {kHeap, kHeap + 8, kHeap + 3}) {
    AddressShadow shadow;
    EXPECT_EQ(shadow.take(address), kNone);
    shadow.set(address, 5);
    EXPECT_EQ(shadow.find(address), 5u);
    shadow.set(address, 6);
    EXPECT_EQ(shadow.take(address + 16), kNone);
    EXPECT_EQ(shadow.take(address), 6u);
    EXPECT_EQ(shadow.find(address), kNone);
    EXPECT_EQ(shadow.take(address), kNone);
  }
}

TEST(AddressShadow, KeepsNeighboursWhereOneIsSetOrTaken) {
  AddressShadow shadow;
  shadow.set(kHeap, 1);
  shadow.set(kHeap + 16, 2);
  shadow.set(kHeap + 8, 3);
  EXPECT_EQ(shadow.take(kHeap), 1u);
  EXPECT_EQ(shadow.find(kHeap + 8), 3u);
  EXPECT_EQ(shadow.take(kHeap + 16), 2u);
}

// What moved when the leaf went over to granules of 8 bytes is still there.
TEST(AddressShadow, TakesWhatWasThereBeforeGranulesBecameFiner) {
  AddressShadow shadow;
  const uint64_t begin = kHeap / kLeafSpan * kLeafSpan;
  for (uint32_t i = 0; i < 5000; ++i) shadow.set(begin + i * uint64_t{16}, i);
  shadow.set(begin + 5000 * 16 + 8, 7);
  for (uint32_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(shadow.take(begin + i * uint64_t{16}), i);
  }
}

// A leaf would take memory for each address that a damaged tape frees.
TEST(AddressShadow, TakesNothingFromTheMiddleOfABlock) {
  AddressShadow shadow;
  shadow.set(kHeap, 1);
  for (const uint64_t offset : {1, 8, 16}) EXPECT_EQ(shadow.take(kHeap + offset), kNone);
  EXPECT_EQ(shadow.find(kHeap), 1u);
}

TEST(AddressShadow, TellsTheSamePlaceInDifferentLeavesApart) {
  AddressShadow shadow;
  const uint64_t last = kAddressLimit - kLeafSpan;
  const std::vector<uint64_t> addresses = {0, kLeafSpan, kLeafSpan << 15, uint64_t{1} << 47, last};
  for (uint32_t slot = 0; slot < addresses.size(); ++slot) shadow.set(addresses[slot], slot);
  for (uint32_t slot = 0; slot < addresses.size(); ++slot) {
    EXPECT_EQ(shadow.find(addresses[slot]), slot);
  }
}

TEST(AddressShadow, HoldsTheGreatestSlotThereIs) {
  AddressShadow shadow;
  shadow.set(kHeap, kNone - 1);
  EXPECT_EQ(shadow.find(kHeap), kNone - 1);
}

TEST(AddressShadow, TakesTheLastAddressesThereAre) {
  AddressShadow shadow;
  shadow.set(kAddressLimit - 8, 1);
  shadow.set(kAddressLimit - 1, 2);
  EXPECT_EQ(shadow.find(kAddressLimit - 8), 1u);
  EXPECT_EQ(shadow.find(kAddressLimit - 1), 2u);
}

TEST(AddressShadow, FindsNothingBetweenGranules) {
  AddressShadow shadow;
  shadow.set(kHeap, 1);
  EXPECT_EQ(shadow.find(kHeap + 8), kNone);
  shadow.set(kHeap + 24, 2);
  EXPECT_EQ(shadow.find(kHeap + 8), kNone);
}

// The first of them comes late, and changes the granules of its leaf alone.
TEST(AddressShadow, KeepsItsNumbersWhenABlockBeginsOnAnOddMultipleOfEight) {
  AddressShadow shadow;
  const uint64_t leaf = kHeap / kLeafSpan * kLeafSpan;
  const uint64_t places[] = {
      leaf, leaf + 16, leaf + 32, leaf + kLeafSpan / 2, leaf + kLeafSpan - 16, leaf + kLeafSpan};
  uint32_t number = 10;
  for (const uint64_t place : places) shadow.set(place, number++);
  shadow.set(leaf + 8, 5);
  number = 10;
  for (const uint64_t place : places) EXPECT_EQ(shadow.find(place), number++) << place - leaf;
  EXPECT_EQ(shadow.find(leaf + 8), 5u);
  EXPECT_EQ(shadow.find(leaf + 24), kNone);
}

// Random numbers of a leaf, among them ones in the stretches that others move to.
TEST(AddressShadow, MovesAllNumbersOfALeafWherever) {
  AddressShadow shadow;
  tests::Random random(7);
  const uint64_t leaf = kHeap / kLeafSpan * kLeafSpan;
  std::map<uint64_t, uint32_t> numbers;
  for (uint32_t number = 0; number < 3000; ++number) {
    const uint64_t reach = random.below(2) == 0 ? 4096 : kLeafSpan / 16;
    numbers[leaf + random.below(reach) * 16] = number;
  }
  for (const auto& [address, number] : numbers) shadow.set(address, number);
  shadow.set(leaf + kLeafSpan - 8, 1);
  for (const auto& [address, number] : numbers) ASSERT_EQ(shadow.find(address), number);
}

TEST(AddressShadow, TellsNeighboursEightBytesApart) {
  AddressShadow shadow;
  for (uint32_t slot = 0; slot < 8; ++slot) shadow.set(kHeap + slot * 8, slot);
  for (uint32_t slot = 0; slot < 8; ++slot) EXPECT_EQ(shadow.find(kHeap + slot * 8), slot);
  shadow.clear(kHeap + 24);
  EXPECT_EQ(shadow.find(kHeap + 24), kNone);
  EXPECT_EQ(shadow.find(kHeap + 16), 2u);
}

TEST(AddressShadow, TakesBlocksOfAnyAlignment) {
  AddressShadow shadow;
  for (uint32_t offset = 1; offset < 8; ++offset) shadow.set(kHeap + offset, offset);
  for (uint32_t offset = 1; offset < 8; ++offset) EXPECT_EQ(shadow.find(kHeap + offset), offset);
  shadow.clear(kHeap + 3);
  EXPECT_EQ(shadow.find(kHeap + 3), kNone);
}

}  // namespace
}  // namespace heaptape::base
