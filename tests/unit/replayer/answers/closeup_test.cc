#include "replayer/answers/closeup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "base/address/pages.h"

namespace heaptape::replayer {
namespace {

using base::AddressRange;
using base::kPageBytes;

constexpr uint64_t kFirstByte = 0x100000;
constexpr uint64_t kMargin = 16 << 10;
constexpr size_t kAny = 1 << 20;

// A heap with blocks of 16 bytes at these offsets; births are 1, 2, 3...
HeapPicture heap(const std::vector<uint64_t>& offsets, uint64_t bytes = 1 << 20) {
  HeapPicture picture;
  picture.at = 77;
  picture.regions = {{kFirstByte, kFirstByte + bytes}};
  for (const uint64_t offset : offsets) {
    picture.blocks.push_back({kFirstByte + offset, 16, 16, picture.blocks.size() + 1, 0});
  }
  return picture;
}

Closeup of(const HeapPicture& picture, size_t most_blocks = kAny) {
  return close_up(picture, find_holes(picture), most_blocks);
}

std::vector<uint64_t> births(const CloseupPart& part) {
  std::vector<uint64_t> births;
  for (const LiveBlock& block : part.blocks) births.push_back(block.birth);
  return births;
}

TEST(Closeup, HasAHoleWithBothNeighbors) {
  const Closeup closeup = of(heap({0, 1000}));
  EXPECT_EQ(closeup.at, 77u);
  ASSERT_EQ(closeup.parts.size(), 1u);
  const CloseupPart& part = closeup.parts[0];
  EXPECT_EQ(births(part), (std::vector<uint64_t>{1, 2}));
  ASSERT_EQ(part.holes.size(), 1u);
  EXPECT_EQ(part.holes[0].range, (AddressRange{kFirstByte + 16, kFirstByte + 1000 - 1000 % 16}));
  EXPECT_EQ(part.holes[0].before, 0u);
  EXPECT_EQ(part.holes[0].after, 1u);
  EXPECT_EQ(part.holes[0].last_free_at, 0u);
}

TEST(Closeup, HasWholePagesAroundIt) {
  const Closeup closeup = of(heap({0x10010, 0x10200}));
  const CloseupPart& part = closeup.parts[0];
  EXPECT_EQ(part.range, (AddressRange{kFirstByte - kMargin, kFirstByte + 0x11000 + kMargin}));
}

TEST(Closeup, HasNothingOfAHeapWithoutHoles) {
  EXPECT_TRUE(of(heap({0, 16})).parts.empty());
  EXPECT_TRUE(of(HeapPicture{}).parts.empty());
}

// The first block of the heap, far away, is beside the hole that ends in the part.
TEST(Closeup, HasNeighborsThatAreOutside) {
  HeapPicture picture = heap({0, 0x40000, 0x40100});
  picture.absent = {{{kFirstByte + 0x1000, kFirstByte + 0x40000}}};
  const Closeup closeup = of(picture, 1);
  ASSERT_EQ(closeup.parts.size(), 1u);
  EXPECT_EQ(births(closeup.parts[0]), (std::vector<uint64_t>{1, 2, 3}));
  ASSERT_EQ(closeup.parts[0].holes.size(), 2u);
  EXPECT_EQ(closeup.parts[0].holes[0].before, 0u);
  EXPECT_EQ(closeup.parts[0].holes[1].before, 1u);
}

TEST(Closeup, BeginsWithTheHoleOfMostResidentBytes) {
  HeapPicture picture = heap({0, 0x20000, 0x40000, 0x50000});
  picture.absent = {{{kFirstByte + 0x1000, kFirstByte + 0x40000}}};
  const Closeup closeup = of(picture, 1);
  ASSERT_EQ(closeup.parts.size(), 1u);
  EXPECT_EQ(closeup.parts[0].range.begin, kFirstByte + 0x40000 - kMargin);
  EXPECT_EQ(closeup.parts[0].holes.back().resident_bytes, 0x10000u - 16);
}

TEST(Closeup, HasAsManyHolesAsTheirBlocksAllow) {
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < 8; ++i) offsets.insert(offsets.end(), {i << 17, (i << 17) + 0xa000});
  const HeapPicture picture = heap(offsets);
  // Holes between pairs are larger than those within, and two blocks are around each.
  EXPECT_EQ(of(picture, 4).parts.size(), 2u);
  EXPECT_EQ(of(picture, 5).parts.size(), 2u);
  EXPECT_EQ(of(picture, 6).parts.size(), 3u);
}

TEST(Closeup, SaysSinceWhenAHoleHasBeenFree) {
  HeapPicture picture = heap({0, 1000});
  auto frees = std::make_shared<LastFrees>();
  frees->note({kFirstByte + 16, kFirstByte + 48}, 40);
  frees->note({kFirstByte + 0x2000, kFirstByte + 0x2010}, 50);
  picture.frees = frees;
  EXPECT_EQ(of(picture).parts[0].holes[0].last_free_at, 40u);
}

// An open hole may have no neighbor on one side.
TEST(Closeup, HasNoNeighborWhereMemoryWasNotSeen) {
  HeapPicture picture = heap({0x1000});
  picture.unseen = {{{kFirstByte, kFirstByte + 0x400}}};
  const Closeup closeup = of(picture);
  ASSERT_EQ(closeup.parts.size(), 1u);
  ASSERT_EQ(closeup.parts[0].holes.size(), 1u);
  EXPECT_EQ(closeup.parts[0].holes[0].before, kNoBlock);
  EXPECT_EQ(closeup.parts[0].holes[0].after, 0u);
}

TEST(Closeup, StaysAboveTheFirstAddress) {
  HeapPicture picture;
  picture.regions = {{0x1000, 0x3000}};
  picture.blocks = {{0x1000, 16, 16, 1, 0}, {0x2000, 16, 16, 2, 0}};
  EXPECT_EQ(of(picture).parts[0].range.begin, 0u);
}

// Against a look at every block and hole.
TEST(Closeup, HasWhatIsThereInRandomHeaps) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    HeapPicture picture;
    picture.at = seed;
    uint64_t address = kFirstByte;
    for (int region = 0; region < 3; ++region) {
      const uint64_t begin = address;
      for (int i = 0; i < 40; ++i) {
        address += random() % 3 * (16 << random() % 14);
        const uint64_t bytes = 16 << random() % 14;
        picture.blocks.push_back({address, bytes, bytes, picture.blocks.size() + 1, 0});
        address += bytes;
      }
      picture.regions.push_back({begin, base::page_up(address)});
      address = base::page_up(address) + random() % 40 * kPageBytes + kPageBytes;
    }
    const std::vector<Hole> holes = find_holes(picture);
    const Closeup closeup = close_up(picture, holes, 1 + random() % 60);
    ASSERT_EQ(closeup.parts.empty(), holes.empty());
    uint64_t end = 0;
    for (const CloseupPart& part : closeup.parts) {
      ASSERT_GT(part.range.begin + (end == 0), end) << seed;
      end = part.range.end;
      size_t inside = 0;
      for (const Hole& hole : holes) {
        if (base::common_part(hole.range, part.range).bytes() == 0) continue;
        ASSERT_LT(inside, part.holes.size());
        const CloseHole& close = part.holes[inside++];
        ASSERT_EQ(close.range, hole.range);
        ASSERT_EQ(close.resident_bytes, hole.resident_bytes);
        ASSERT_EQ(close.before == kNoBlock, hole.before == kNoBlock);
        if (hole.before != kNoBlock) {
          ASSERT_EQ(part.blocks.at(close.before).birth, picture.blocks[hole.before].birth);
        }
        ASSERT_EQ(part.blocks.at(close.after).birth, picture.blocks[hole.after].birth);
      }
      ASSERT_EQ(inside, part.holes.size());
      for (const LiveBlock& block : picture.blocks) {
        const bool is_inside =
            base::common_part({block.address, block.end()}, part.range).bytes() != 0;
        const bool is_there = std::ranges::count(births(part), block.birth) == 1;
        ASSERT_TRUE(is_there || !is_inside) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace heaptape::replayer
