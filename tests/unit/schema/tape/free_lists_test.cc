#include "schema/tape/free_lists.h"

#include <gtest/gtest.h>

#include <bit>

namespace heaptape::schema {
namespace {

constexpr int kUnit = 4;

class FreeListsTest : public testing::Test {
 protected:
  static uint64_t block(uint64_t number) { return 0x10000 + number * 16; }
  FreeLists::List& list(uint32_t thread = 0, uint8_t size_class = 3) {
    return lists_.of(thread)[size_class];
  }
  void give_up(uint64_t blocks) {
    for (uint64_t i = 0; i < blocks; ++i) list().freed.push_back(block(i));
  }
  uint64_t encode(uint64_t address) { return lists_.encode(list(), address, kUnit, true); }

  FreeLists lists_;
};

TEST_F(FreeListsTest, HandTheLastBlockOutFirst) {
  give_up(3);
  EXPECT_EQ(encode(block(2)), 1u);
  EXPECT_EQ(encode(block(1)), 1u);
  EXPECT_EQ(encode(block(0)), 1u);
}

TEST_F(FreeListsTest, CloseTheGapThatABlockLeaves) {
  give_up(5);
  EXPECT_EQ(encode(block(2)), 3u);
  EXPECT_EQ(encode(block(1)), 3u);
  EXPECT_EQ(encode(block(4)), 1u);
  EXPECT_EQ(list().freed, (std::vector<uint64_t>{block(0), block(3)}));
}

TEST_F(FreeListsTest, LookAtSixteenPlaces) {
  give_up(17);
  EXPECT_EQ(encode(block(0)), 16 + 1 + zigzag(block(0) / 16)) << "there is no block to start from";
  EXPECT_EQ(list().freed.size(), 17u);
  EXPECT_EQ(encode(block(1)), 16u);
}

TEST_F(FreeListsTest, CodeOthersByTheLastOfTheClassOrElseOfAll) {
  lists_.encode(list(0, 5), block(100), kUnit, true);
  EXPECT_EQ(encode(block(102)), 16 + 1 + zigzag(2));
  EXPECT_EQ(encode(block(99)), 16 + 1 + zigzag(-3));
  EXPECT_EQ(lists_.encode(list(0, 5), block(101), kUnit, true), 16 + 1 + zigzag(1));
  EXPECT_EQ(encode(0), 0u);
}

TEST_F(FreeListsTest, AreThoseOfAThread) {
  give_up(1);
  EXPECT_EQ(list(16).freed.size(), 1u) << "of the same context";
  EXPECT_EQ(list(1).freed.size(), 0u);
  EXPECT_EQ(list(0, 4).freed.size(), 0u);
}

TEST_F(FreeListsTest, KnowNothingAfterAReset) {
  give_up(2000);
  encode(block(5000));
  lists_.reset();
  EXPECT_TRUE(list().freed.empty());
  EXPECT_EQ(encode(block(3)), 16 + 1 + zigzag(block(3) / 16));
}

// What docs/tape-format.md says of each, the slow way.
uint64_t documented_class(SizeClasses classes, uint64_t size) {
  uint64_t bytes = size;
  uint64_t linear = 128;
  uint64_t parts = classes == SizeClasses::kEighths ? 8 : 4;
  if (classes == SizeClasses::kChunks) {
    bytes = std::max<uint64_t>(size + 8, 17);
    linear = 1024;
  }
  if (bytes <= linear) return (bytes + 15) / 16;
  uint64_t index = linear / 16;
  uint64_t limit = linear;
  for (uint64_t doubling = linear;; doubling *= 2) {
    for (uint64_t part = 0; part < parts; ++part) {
      limit += doubling / parts;
      ++index;
      if (bytes <= limit) return std::min<uint64_t>(index, 255);
    }
  }
}

TEST(SizeClasses, AreTheDocumentedOnes) {
  for (size_t i = 0; i < kSizeClassKinds; ++i) {
    const auto classes = static_cast<SizeClasses>(i);
    const auto expect_at = [&](uint64_t size) {
      ASSERT_EQ(size_class(classes, size), documented_class(classes, size)) << i << ": " << size;
      ASSERT_EQ(one_of(all_size_classes(size), classes), size_class(classes, size));
    };
    for (uint64_t size = 0; size < 5000; ++size) expect_at(size);
    for (int bit = 12; bit < 60; ++bit) {
      const uint64_t power = uint64_t{1} << bit;
      for (const uint64_t eighth : {8, 9, 10, 11, 12, 13, 14, 15}) {
        for (const int64_t by : {-9, -8, -7, -1, 0, 1}) {
          expect_at(power / 8 * eighth + static_cast<uint64_t>(by));
        }
      }
    }
  }
}

size_t version1_class(uint64_t size) {
  return size_class(SizeClasses::kVersion1, size);
}

TEST(SizeClassesOfVersion1, StepBy16UpTo1024) {
  EXPECT_EQ(version1_class(0), 0u);
  EXPECT_EQ(version1_class(1), 1u);
  EXPECT_EQ(version1_class(16), 1u);
  EXPECT_EQ(version1_class(17), 2u);
  EXPECT_EQ(version1_class(1024), 64u);
}

TEST(SizeClassesOfVersion1, AreFourADoublingAbove1024) {
  EXPECT_EQ(version1_class(1025), 65u);
  EXPECT_EQ(version1_class(1280), 65u);
  EXPECT_EQ(version1_class(1281), 66u);
  EXPECT_EQ(version1_class(2048), 68u);
  EXPECT_EQ(version1_class(2049), 69u);
}

TEST(SizeClassesOfVersion1, HaveEverySizeInRange) {
  for (int shift = 0; shift < 64; ++shift) {
    EXPECT_LT(version1_class(uint64_t{1} << shift), 128u);
  }
  EXPECT_EQ(version1_class(UINT64_MAX), 127u);
}

}  // namespace
}  // namespace heaptape::schema
