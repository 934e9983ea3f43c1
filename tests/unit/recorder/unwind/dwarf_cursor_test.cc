#include "recorder/unwind/dwarf_cursor.h"

#include <gtest/gtest.h>

#include <limits>
#include "tests/support/cfi_bytes.h"

namespace heaptape::recorder {
namespace {

using tests::Bytes;
using tests::operator+;

constexpr uint64_t kAddress = 0x1000;

uint64_t uleb_of(const Bytes& bytes) {
  DwarfCursor cursor(bytes, 0);
  const uint64_t value = cursor.uleb();
  EXPECT_TRUE(cursor.ok() && cursor.done());
  return value;
}

int64_t sleb_of(const Bytes& bytes) {
  DwarfCursor cursor(bytes, 0);
  const int64_t value = cursor.sleb();
  EXPECT_TRUE(cursor.ok() && cursor.done());
  return value;
}

uint64_t pointer_of(uint8_t encoding, const Bytes& bytes, uint64_t address = kAddress) {
  DwarfCursor cursor(bytes, address);
  const uint64_t value = cursor.pointer(encoding);
  EXPECT_TRUE(cursor.ok() && cursor.done());
  return value;
}

TEST(DwarfCursor, ReadsNumbersOfAnyLength) {
  EXPECT_EQ(uleb_of({0}), 0u);
  EXPECT_EQ(uleb_of({0x7f}), 127u);
  EXPECT_EQ(uleb_of({0x80, 0x01}), 128u);
  EXPECT_EQ(uleb_of({0xe5, 0x8e, 0x26}), 624485u);
  EXPECT_EQ(uleb_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),
            std::numeric_limits<uint64_t>::max());
}

TEST(DwarfCursor, ReadsNumbersWithSigns) {
  EXPECT_EQ(sleb_of({0x02}), 2);
  EXPECT_EQ(sleb_of({0x7e}), -2);
  EXPECT_EQ(sleb_of({0x78}), -8);
  EXPECT_EQ(sleb_of({0xc0, 0x00}), 64);
  EXPECT_EQ(sleb_of({0x80, 0x7f}), -128);
  EXPECT_EQ(sleb_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}),
            std::numeric_limits<int64_t>::min());
}

TEST(DwarfCursor, DropsWhatIsBeyond64Bits) {
  EXPECT_EQ(uleb_of(Bytes(20, 0x80) + Bytes{0x7f}), 0u);
  EXPECT_EQ(sleb_of({0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}), 1);
}

TEST(DwarfCursor, ReadsPointersOfEachWidth) {
  const Bytes all_ones(8, 0xff);
  EXPECT_EQ(pointer_of(0x00, {1, 0, 0, 0, 0, 0, 0, 0x80}), 0x8000000000000001u);
  EXPECT_EQ(pointer_of(0x01, {0x80, 0x01}), 128u);
  EXPECT_EQ(pointer_of(0x02, {0xff, 0xff}), 0xffffu);
  EXPECT_EQ(pointer_of(0x03, {0xff, 0xff, 0xff, 0xff}), 0xffffffffu);
  EXPECT_EQ(pointer_of(0x04, all_ones), ~uint64_t{0});
  EXPECT_EQ(pointer_of(0x09, {0x7f}), ~uint64_t{0});
  EXPECT_EQ(pointer_of(0x0a, {0xfe, 0xff}), ~uint64_t{1});
  EXPECT_EQ(pointer_of(0x0b, {0xfe, 0xff, 0xff, 0xff}), ~uint64_t{1});
  EXPECT_EQ(pointer_of(0x0c, all_ones), ~uint64_t{0});
}

TEST(DwarfCursor, MakesPointersToThemselvesAbsolute) {
  EXPECT_EQ(pointer_of(0x1b, {0x10, 0, 0, 0}), kAddress + 0x10);
  EXPECT_EQ(pointer_of(0x1b, {0xf0, 0xff, 0xff, 0xff}), kAddress - 0x10);
}

TEST(DwarfCursor, FindsAlignedPointers) {
  EXPECT_EQ(pointer_of(0x50, {9, 9, 9, 1, 0, 0, 0, 0, 0, 0, 0}, kAddress + 5), 1u);
  EXPECT_EQ(pointer_of(0x50, {1, 0, 0, 0, 0, 0, 0, 0}), 1u);
}

TEST(DwarfCursor, FailsForPointersThatItCannotFollow) {
  for (const uint8_t encoding : {0x0d, 0x20, 0x3b, 0x40, 0x9b, 0xff}) {
    const Bytes bytes(16, 1);
    DwarfCursor cursor(bytes, kAddress);
    EXPECT_EQ(cursor.pointer(encoding), 0u) << int{encoding};
    EXPECT_FALSE(cursor.ok()) << int{encoding};
  }
}

TEST(DwarfCursor, SkipsPointersThatItCannotFollow) {
  const Bytes bytes(16, 1);
  DwarfCursor cursor(bytes, kAddress);
  cursor.skip_pointer(0x9b);
  cursor.skip_pointer(0xff);
  EXPECT_TRUE(cursor.ok());
  EXPECT_EQ(cursor.left(), 12u);
}

TEST(DwarfCursor, GivesZerosAfterAFailure) {
  const Bytes bytes = {1, 2, 3, 4, 5};
  DwarfCursor cursor(bytes, 0);
  EXPECT_EQ(cursor.number<uint64_t>(), 0u);
  EXPECT_FALSE(cursor.ok());
  EXPECT_TRUE(cursor.done());
  EXPECT_EQ(cursor.byte(), 0);
}

TEST(DwarfCursor, FailsForNumbersWithoutAnEnd) {
  const Bytes bytes = {0x80, 0x80};
  DwarfCursor unsigned_number(bytes, 0);
  unsigned_number.uleb();
  EXPECT_FALSE(unsigned_number.ok());
  DwarfCursor signed_number(bytes, 0);
  signed_number.sleb();
  EXPECT_FALSE(signed_number.ok());
}

TEST(DwarfCursor, GivesAPartWithItsAddress) {
  const Bytes bytes = {1, 2, 3, 4};
  DwarfCursor cursor(bytes, kAddress);
  cursor.byte();
  DwarfCursor part = cursor.part(2);
  EXPECT_EQ(part.address(), kAddress + 1);
  EXPECT_EQ(part.byte(), 2);
  EXPECT_EQ(part.left(), 1u);
  EXPECT_EQ(cursor.byte(), 4);
}

TEST(DwarfCursor, HasNoPartBeyondItsEnd) {
  const Bytes bytes = {1, 2, 3, 4};
  DwarfCursor cursor(bytes, kAddress);
  EXPECT_EQ(cursor.part(5).left(), 0u);
  EXPECT_FALSE(cursor.ok());
}

}  // namespace
}  // namespace heaptape::recorder
