// Tapes that no writer of ours makes: right by every checksum, and wrong.
#include <gtest/gtest.h>

#include <cstring>

#include "schema/tape/event_encoder.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

using Words = std::vector<uint64_t>;

constexpr int kStoreAsItIs = -100000;  // a level of zstd that looks for next to no repetition

template <typename Bytes>
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The message of a chunk of events, with a sample that lists `regions`.
Words message_of(std::span<const Event> events, uint64_t first_event,
                 std::vector<base::AddressRange> regions = {}) {
  EventEncoder encoder;
  encoder.set_unit_log2(0);
  for (const Event& event : events) encoder.append(event);
  encoder.add_sample({first_event, 0, 0, std::move(regions)});
  EventColumns chunk = encoder.take();
  chunk.first_event = first_event;
  return *encode(chunk, FreedEncoding::kLastFreed);
}

// Regions that stand in a message as the bytes of `text`.
std::vector<base::AddressRange> regions_that_spell(std::string text) {
  text.resize((text.size() + 15) / 16 * 16);
  std::vector<base::AddressRange> regions(text.size() / 16);
  std::memcpy(regions.data(), text.data(), text.size());
  for (base::AddressRange& region : regions) region.end += region.begin;  // stored: begin, bytes
  return regions;
}

class CraftedTape : public testing::Test {
 protected:
  CraftedTape() {
    tests::Random random(7);
    events_ = tests::arbitrary_events(random, 200);
    add(chunk(ChunkKind::kHeader, *encode(tests::sample_header()), 0, 0));
  }

  static std::string chunk(ChunkKind kind, const Words& words, uint32_t count,
                           uint64_t first_event) {
    FrameCompressor compressor(kStoreAsItIs);
    const auto frame = compressor.compress(words);
    const auto payload_bytes = static_cast<uint32_t>(frame.size());
    return text_of(pack({kind, payload_bytes, count, first_event, crc32_of(frame)})) +
           text_of(frame);
  }
  void add(const std::string& chunk) {
    name_in_index(tape_.size(), chunk);
    tape_ += chunk;
  }
  void name_in_index(uint64_t offset, const std::string& chunk) {
    ChunkHeaderBytes bytes;
    std::memcpy(bytes.data(), chunk.data(), bytes.size());
    const ChunkHeader header = *unpack_chunk_header(bytes);
    index_.push_back({offset, header.kind, header.event_count, header.first_event});
  }
  std::span<const Event> events(size_t from, size_t to) const {
    return std::span(events_).subspan(from, to - from);
  }
  TapeReader finish_and_open() {
    add(chunk(ChunkKind::kSummary, *encode(TapeSummary{}), 0, 0));
    const uint64_t index_offset = tape_.size();
    tape_ += chunk(ChunkKind::kIndex, *encode(index_), 0, 0);
    tests::write_bytes(path_, tape_ + text_of(pack_trailer(index_offset)));
    auto reader = TapeReader::open(path_, OnDamage::kSkip);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  void expect_gives(TapeReader& reader, size_t from, size_t to) {
    const auto wanted = events(from, to);
    EXPECT_EQ(tests::read_events(reader), std::vector<Event>(wanted.begin(), wanted.end()));
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("t");
  std::vector<Event> events_;
  std::string tape_ = text_of(pack_preamble());
  std::vector<ChunkRef> index_;
};

TEST_F(CraftedTape, OfWholeChunksIsRead) {
  add(chunk(ChunkKind::kEvents, message_of(events(0, 100), 0), 100, 0));
  add(chunk(ChunkKind::kEvents, message_of(events(100, 200), 100), 100, 100));
  TapeReader reader = finish_and_open();
  expect_gives(reader, 0, 200);
}

TEST_F(CraftedTape, WithAThreadEndBehindItsChunkIsDamaged) {
  EventEncoder encoder;
  for (int i = 0; i < 6; ++i) encoder.append(tests::malloc_event(1, 0x5000));
  encoder.add_end(0x77);
  Words words = *encode(encoder.take(), FreedEncoding::kLastFreed);
  std::string bytes(reinterpret_cast<const char*>(words.data()), words.size() * 8);
  const size_t at = bytes.find("\x06\x77");
  ASSERT_NE(at, std::string::npos);
  reinterpret_cast<char*>(words.data())[at] = 7;
  add(chunk(ChunkKind::kEvents, words, 6, 0));
  TapeReader reader = finish_and_open();
  EXPECT_TRUE(tests::read_events(reader).empty());
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].reason, "its thread-end column is wrong");
}

TEST_F(CraftedTape, WithAStackThatItDoesNotHaveIsDamaged) {
  EventEncoder encoder;
  encoder.set_has_stacks();
  encoder.append(tests::malloc_event(1, 0x5000), encoder.add_frame({0, 0x400000}) + 1);
  add(chunk(ChunkKind::kEvents, *encode(encoder.take(), FreedEncoding::kLastFreed), 1, 0));
  TapeReader reader = finish_and_open();
  EXPECT_TRUE(tests::read_events(reader).empty());
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].reason, "its stack column is wrong");
}

// A walk outwards would never end.
TEST_F(CraftedTape, WithAFrameThatCallsItselfIsDamaged) {
  EventEncoder encoder;
  encoder.add_frame({1, 0x400000});
  encoder.append(tests::malloc_event(1, 0x5000));
  add(chunk(ChunkKind::kEvents, *encode(encoder.take(), FreedEncoding::kLastFreed), 1, 0));
  TapeReader reader = finish_and_open();
  EXPECT_TRUE(tests::read_events(reader).empty());
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].reason, "its frame column is wrong");
}

TEST_F(CraftedTape, WithFramesThatAreNumberedTwiceKeepsTheFirst) {
  for (const uint64_t address : {0x400000, 0x500000}) {
    EventEncoder encoder;
    encoder.set_has_stacks();
    encoder.append(tests::malloc_event(1, 0x5000), encoder.add_frame({0, address}));
    EventColumns columns = encoder.take();
    columns.first_event = address == 0x400000 ? 0 : 1;
    const Words words = *encode(columns, FreedEncoding::kLastFreed);
    add(chunk(ChunkKind::kEvents, words, 1, columns.first_event));
  }
  TapeReader reader = finish_and_open();
  const auto stacks = reader.read_stacks();
  ASSERT_TRUE(stacks.ok());
  EXPECT_EQ(stacks->find(1)->return_address, 0x400000u);
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].reason, "its frames are numbered like those before them");
}

TEST_F(CraftedTape, HasTheLayoutOfOldTapesWhereNoThreadEnds) {
  constexpr uint64_t kTwoDataWordsAndEightPointers = 0x0008'0002'0000'0000;
  EXPECT_EQ(message_of(events(0, 100), 0)[1], kTwoDataWordsAndEightPointers);
}

TEST_F(CraftedTape, WithAChunkInsideAnotherGivesTheOuterOneOnly) {
  const std::string inner = chunk(ChunkKind::kEvents, message_of(events(100, 200), 100), 100, 100);
  const Words outer = message_of(events(0, 100), 0, regions_that_spell(inner));
  add(chunk(ChunkKind::kEvents, outer, 100, 0));
  const size_t inside = tape_.find(inner);
  ASSERT_NE(inside, std::string::npos) << "the frame does not hold the inner chunk as it is";
  name_in_index(inside, inner);
  TapeReader reader = finish_and_open();
  expect_gives(reader, 0, 100);
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].offset, inside);
  EXPECT_EQ(reader.damages()[0].reason, "it overlaps the chunk before it");
}

TEST_F(CraftedTape, IsReadFromBehindEventsThatDoNotDecode) {
  const std::vector<Event> mallocs(100, tests::malloc_event(1, 0x5000));
  Words words = message_of(mallocs, 0);
  std::string ops(100, static_cast<char>(Op::kMalloc));
  std::string bytes(reinterpret_cast<const char*>(words.data()), words.size() * 8);
  const size_t at = bytes.find(ops);
  ASSERT_NE(at, std::string::npos);
  reinterpret_cast<char*>(words.data())[at + 50] = 0;  // no op
  add(chunk(ChunkKind::kEvents, words, 100, 0));
  add(chunk(ChunkKind::kEvents, message_of(events(100, 200), 100), 100, 100));
  TapeReader reader = finish_and_open();
  ASSERT_TRUE(reader.seek(80).ok());
  expect_gives(reader, 100, 200);
}

}  // namespace
}  // namespace heaptape::schema
