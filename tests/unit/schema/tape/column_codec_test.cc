#include "schema/tape/column_codec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/address/address_range.h"
#include "tests/support/tapes.h"

namespace heaptape::schema {
namespace {

TEST(Zigzag, KeepsSmallDistancesSmall) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(-1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
}

TEST(Zigzag, IsUndoneAtTheLimits) {
  for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  }
}

TEST(ColumnReader, ReturnsWhatTheWriterPut) {
  ColumnWriter writer;  // grows many times
  std::vector<uint64_t> values;
  for (int shift = 0; shift < 64; ++shift) {
    values.push_back(uint64_t{1} << shift);
    values.push_back((uint64_t{1} << shift) - 1);
  }
  values.push_back(UINT64_MAX);
  for (const uint64_t value : values) writer.put(value);
  ColumnReader reader(writer.bytes());
  for (const uint64_t value : values) {
    uint64_t got = 0;
    ASSERT_TRUE(reader.get(got));
    EXPECT_EQ(got, value);
  }
  EXPECT_TRUE(reader.at_end());
}

TEST(ColumnReader, RefusesAVarintThatEndsTooSoon) {
  const uint8_t bytes[] = {0x80, 0x80};
  ColumnReader reader(bytes);
  uint64_t value = 0;
  EXPECT_FALSE(reader.get(value));
}

// Values of all lengths, in runs of one length and mixed.
TEST(ColumnReader, ReturnsManyAtATimeAsItDoesOneByOne) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tests::Random random(seed);
    ColumnWriter writer;
    std::vector<uint64_t> values(random.below(200));
    uint64_t bits = 7;
    for (uint64_t& value : values) {
      if (random.below(10) == 0) bits = 1 + random.below(64);
      value = random.next() >> (64 - bits);
      writer.put(value);
    }
    ColumnReader reader(writer.bytes());
    std::vector<uint64_t> read(values.size());
    const size_t first = random.below(values.size() + 1);
    ASSERT_TRUE(reader.get_all(std::span(read).first(first)));
    ASSERT_TRUE(reader.get_all(std::span(read).subspan(first)));
    EXPECT_EQ(read, values);
    EXPECT_TRUE(reader.at_end());
  }
}

TEST(ColumnReader, HasNotMoreThanThereAre) {
  for (const size_t count : {0, 1, 8, 20}) {
    const std::vector<uint8_t> bytes(count, 5);
    ColumnReader reader(bytes);
    std::vector<uint64_t> read(count + 1);
    EXPECT_FALSE(reader.get_all(read)) << count;
  }
}

TEST(ColumnReader, RefusesAVarintOfMoreThan64Bits) {
  const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
  ColumnReader reader(bytes);
  uint64_t value = 0;
  EXPECT_FALSE(reader.get(value));
}

TEST(AddressCode, KeepsNullApartFromEveryAddress) {
  EXPECT_EQ(AddressCode::encode(0, 0x5000, 4), 0u);
  EXPECT_EQ(AddressCode::encode(0x5000, 0x5000, 4), 1u);
  EXPECT_EQ(AddressCode::decode(0, 0x5000, 4), 0u);
}

TEST(AddressCode, CountsDistancesInUnits) {
  EXPECT_EQ(AddressCode::encode(0x5010, 0x5000, 4), 1 + zigzag(1));
  EXPECT_EQ(AddressCode::encode(0x4ff0, 0x5000, 4), 1 + zigzag(-1));
}

TEST(AddressCode, IsUndoneAcrossTheWholeAddressRange) {
  const uint64_t top = base::kAddressLimit - 1;
  for (const uint64_t predicted : {uint64_t{0}, uint64_t{1}, top}) {
    for (const uint64_t address : {uint64_t{1}, uint64_t{0x1000}, top}) {
      EXPECT_EQ(AddressCode::decode(AddressCode::encode(address, predicted, 0), predicted, 0),
                address);
    }
  }
}

}  // namespace
}  // namespace heaptape::schema
