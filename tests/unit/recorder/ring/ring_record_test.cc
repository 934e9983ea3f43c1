// How one call lies in a ring. The words are spelt out by tests/support/fake_session.cc.
#include "recorder/ring/record.h"

#include <gtest/gtest.h>

#include <string>

#include "base/address/address_range.h"
#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

using tests::words_of;

constexpr uint64_t kHighestAddress = (uint64_t{1} << 56) - 1;
static_assert(kHighestAddress < base::kAddressLimit);

// A record of every op with all that it can hold.
Record full_record(Op op, bool stamped) {
  const schema::OpInfo& info = schema::op_info(op);
  Record record;
  record.op = op;
  record.address = kHighestAddress;
  if (info.kind != OpKind::kRelease) record.size = UINT64_MAX;
  if (info.aligned) record.alignment = 4096;
  if (info.kind == OpKind::kResize) record.old_address = 0x5581c0;
  if (stamped) record.stamp = record.begin_stamp = 77;
  if (stamped && info.kind == OpKind::kResize) record.begin_stamp = 70;
  return record;
}

void expect_reads_back(const Record& expected) {
  const std::vector<uint64_t> words = words_of(expected);
  Record read;
  ASSERT_EQ(read_record(words.data(), static_cast<uint32_t>(words.size()), read),
            ReadRecord::kRecord);
  EXPECT_EQ(read.op, expected.op);
  EXPECT_EQ(read.address, expected.address);
  EXPECT_EQ(read.size, expected.size);
  EXPECT_EQ(read.alignment, expected.alignment);
  EXPECT_EQ(read.old_address, expected.old_address);
  EXPECT_EQ(read.stamp, expected.stamp);
  EXPECT_EQ(read.begin_stamp, expected.begin_stamp);
  EXPECT_EQ(read.words, words.size());
  EXPECT_LE(read.words, kMaxRecordWords);
}

TEST(RingRecord, ReadsBackEveryOp) {
  for (const bool stamped : {false, true}) {
#define HEAPTAPE_READ_BACK(name, value, text, kind, aligned) \
  {                                                          \
    SCOPED_TRACE(text);                                      \
    expect_reads_back(full_record(Op::name, stamped));       \
  }
    HEAPTAPE_OPS(HEAPTAPE_READ_BACK)
#undef HEAPTAPE_READ_BACK
  }
}

TEST(RingRecord, IsCorruptWhenOneWordIsMissing){
#define HEAPTAPE_TRUNCATE(name, value, text, kind, aligned)                             \
  {                                                                                     \
    const std::vector<uint64_t> words = words_of(full_record(Op::name, true));          \
    Record read;                                                                        \
    EXPECT_EQ(read_record(words.data(), static_cast<uint32_t>(words.size() - 1), read), \
              ReadRecord::kCorrupt)                                                     \
        << text;                                                                        \
  }
    HEAPTAPE_OPS(HEAPTAPE_TRUNCATE)
#undef HEAPTAPE_TRUNCATE
}

TEST(RingRecord, IsCorruptWhenItsOpIsUnknown) {
  for (uint64_t stored = 0; stored <= kOpMask; ++stored) {
    const uint64_t words[kMaxRecordWords] = {0x5581c0'00 | stored, 1, 1, 1, 1};
    Record read;
    const bool readable = read_record(words, kMaxRecordWords, read) == ReadRecord::kRecord;
    EXPECT_EQ(readable, schema::is_valid_op(static_cast<uint8_t>(stored))) << stored;
  }
}

// A word that was never written is not taken for it.
TEST(RingRecord, AWordOfItsOwnEndsASegment) {
  uint64_t words[kMaxRecordWords] = {kSegmentEndOp, first_word(Op::kFree, 0x1000, false)};
  Record read;
  EXPECT_EQ(read_record(words, 2, read), ReadRecord::kSegmentEnd);
  words[0] = 0;
  EXPECT_EQ(read_record(words, 2, read), ReadRecord::kCorrupt);
}

TEST(RingRecord, MatchesTheExampleOfItsDescription) {
  EXPECT_EQ(first_word(Op::kMalloc, 0x5581c0, false), 0x5581c001u);
  EXPECT_EQ(first_word(Op::kMalloc, 0x5581c0, true), 0x5581c041u);
  const uint64_t words[kMaxRecordWords] = {0x5581c001, 0x18};
  Record read;
  ASSERT_EQ(read_record(words, 2, read), ReadRecord::kRecord);
  EXPECT_EQ(read.address, 0x5581c0u);
  EXPECT_EQ(read.size, 24u);
}

// Calls that map memory are no ops.
TEST(RingRecord, ReadsBackMappingCalls) {
  for (const auto& [stamped, stack] :
       {std::pair(false, 0), std::pair(false, 9), std::pair(true, 0), std::pair(true, 9)}) {
    std::vector<uint64_t> words = {mapping_word(kHighestAddress, stamped, stack != 0)};
    if (stamped) words.push_back(77);
    const uint64_t last =
        uint64_t{0x7f1234} << kAddressShift | static_cast<uint64_t>(schema::MappingOp::kAdvise);
    words.insert(words.end(), {UINT64_MAX, 5, last});
    if (stack != 0) words.push_back(9);
    Record read;
    const auto count = static_cast<uint32_t>(words.size());
    ASSERT_EQ(read_record(words.data(), count, read), ReadRecord::kMapping);
    EXPECT_EQ(read.address, kHighestAddress);
    EXPECT_EQ(read.size, UINT64_MAX);
    EXPECT_EQ(read.alignment, 5u);
    EXPECT_EQ(read.stack, static_cast<uint64_t>(stack));
    EXPECT_EQ(read.old_address, last);
    EXPECT_EQ(read.stamp, stamped ? 77u : 0u);
    EXPECT_EQ(read.words, count);
    EXPECT_LE(count, kMaxRecordWords);
    EXPECT_EQ(read_record(words.data(), count - 1, read), ReadRecord::kCorrupt);
    words[stamped ? 4 : 3] |= 0xff;
    EXPECT_EQ(read_record(words.data(), count, read), ReadRecord::kCorrupt);
  }
}

}  // namespace
}  // namespace heaptape::recorder
