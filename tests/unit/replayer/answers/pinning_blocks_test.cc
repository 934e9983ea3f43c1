
#include <gtest/gtest.h>

#include <utility>

#include "replayer/answers/pins.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kFirstByte = 0x10000;

using Pins = std::vector<std::pair<uint64_t, uint64_t>>;  // births and bytes

// A heap with blocks of 16 bytes at these offsets; births are 1, 2, 3...
Pins pins_of(const std::vector<uint64_t>& offsets,
             std::optional<std::vector<base::AddressRange>> absent = {}) {
  HeapPicture picture;
  picture.granule_log2 = 0;
  picture.regions = {{kFirstByte, kFirstByte + 0x4000}};
  picture.absent = std::move(absent);
  for (const uint64_t offset : offsets) {
    picture.blocks.push_back({kFirstByte + offset, 16, 16, picture.blocks.size() + 1, 0});
  }
  Pins pins;
  for (const PinningBlock& block : pinning_blocks(picture)) {
    pins.emplace_back(block.birth, block.bytes);
  }
  return pins;
}

TEST(PinningBlocks, HaveHalfOfAHoleEach) {
  EXPECT_EQ(pins_of({0, 116}), (Pins{{1, 50}, {2, 50}}));
}

TEST(PinningBlocks, SayWhatTheProgramAskedFor) {
  HeapPicture picture;
  picture.granule_log2 = 0;
  picture.regions = {{kFirstByte, kFirstByte + 0x4000}};
  picture.blocks = {{kFirstByte, 16, 9, 1, 0}, {kFirstByte + 116, 16, 12, 2, 0}};
  const auto pins = pinning_blocks(picture);
  ASSERT_EQ(pins.size(), 2u);
  EXPECT_EQ(pins[0].requested_bytes, 9u);
  EXPECT_EQ(pins[1].requested_bytes, 12u);
}

TEST(PinningBlocks, LoseNoByteOfAnOddHole) {
  EXPECT_EQ(pins_of({0, 117}), (Pins{{1, 50}, {2, 51}}));
}

TEST(PinningBlocks, HaveHalfOfTheHolesOnBothSides) {
  EXPECT_EQ(pins_of({0, 116, 332}), (Pins{{1, 50}, {2, 150}, {3, 100}}));
}

TEST(PinningBlocks, HaveAllOfAHoleWithoutAnotherNeighbour) {
  EXPECT_EQ(pins_of({5000}), (Pins{{1, 5000}}));
}

TEST(PinningBlocks, AreNotThoseWithoutAHole) {
  EXPECT_EQ(pins_of({0, 16, 32, 148}), (Pins{{3, 50}, {4, 50}}));
}

TEST(PinningBlocks, HaveNothingOfWhatIsNotResident) {
  EXPECT_EQ(pins_of({0, 116, 332}, {{{0x10010, 0x10074}}}), (Pins{{2, 100}, {3, 100}}));
}

}  // namespace
}  // namespace heaptape::replayer
