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
  return *encode(chunk);
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
  Words words = *encode(encoder.take());
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
  add(chunk(ChunkKind::kEvents, *encode(encoder.take()), 1, 0));
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
  add(chunk(ChunkKind::kEvents, *encode(encoder.take()), 1, 0));
  TapeReader reader = finish_and_open();
  EXPECT_TRUE(tests::read_events(reader).empty());
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].reason, "its frame column is wrong");
}

// A chunk of six calls whose columns a test changes.
class CraftedChunk : public CraftedTape {
 protected:
  CraftedChunk() {
    const Event allocated = tests::malloc_event(1, 0x5000);
    const Event freed = tests::free_event(0x5000);
    columns_ =
        columns_of({allocated, freed, allocated, freed, tests::free_event(0x9000), allocated});
  }
  static EventColumns columns_of(const std::vector<Event>& events) {
    EventEncoder encoder;
    for (const Event& event : events) encoder.append(event);
    return encoder.take();
  }
  static ColumnWriter column_of(const std::vector<uint8_t>& bytes) {
    ColumnWriter column;
    column.put_bytes(bytes);
    return column;
  }
  void expect_damaged(const std::string& reason) {
    add(chunk(ChunkKind::kEvents, *encode(columns_), columns_.count, 0));
    TapeReader reader = finish_and_open();
    EXPECT_TRUE(tests::read_events(reader).empty());
    ASSERT_EQ(reader.damages().size(), 1u);
    EXPECT_EQ(reader.damages()[0].reason, reason);
  }

  EventColumns columns_;
};

// The last block handed out has age 2, and 1 says that the chunk did not hand it out.
TEST_F(CraftedChunk, HasAgesAndPlacesInFreeLists) {
  const auto bytes = [](const ColumnWriter& column) {
    return std::vector<uint8_t>(column.bytes().begin(), column.bytes().end());
  };
  EXPECT_EQ(bytes(columns_.ages), (std::vector<uint8_t>{2, 2, 1}));
  EXPECT_EQ(bytes(columns_.high_ages), (std::vector<uint8_t>{0, 0, 0}));
  for (const ColumnWriter& addresses : columns_.addresses) {
    const auto codes = bytes(addresses);
    ASSERT_GE(codes.size(), 3u);
    EXPECT_EQ(std::vector(codes.end() - 2, codes.end()), (std::vector<uint8_t>{1, 1}));
  }
}

TEST_F(CraftedChunk, WithAnAgeBeforeItsFirstBlockIsDamaged) {
  columns_.ages = column_of({3, 2, 1});
  expect_damaged("its freed-address column is wrong");
}

TEST_F(CraftedChunk, WithTheAgeOfItsFirstBlockIsRead) {
  columns_.ages = column_of({2, 3, 1});
  add(chunk(ChunkKind::kEvents, *encode(columns_), columns_.count, 0));
  TapeReader reader = finish_and_open();
  EXPECT_EQ(tests::read_events(reader).at(3), tests::free_event(0x5000));
}

TEST_F(CraftedChunk, WithAPlaceThatItsFreeListHasNotIsDamaged) {
  const auto codes = columns_.addresses_by(SizeClasses::kChunks);
  std::vector<uint8_t> wrong(codes.begin(), codes.end());
  wrong.back() = 2;
  columns_.addresses[0] = column_of(wrong);
  expect_damaged("its size or address column is wrong");
}

std::vector<SteeringCall> read_steering(TapeReader& reader) {
  EventBatch batch;
  EXPECT_TRUE(reader.read(batch, 1000).ok());
  return batch.steering;
}

TEST_F(CraftedChunk, IsReadWithoutSteeringThatALaterVersionRecords) {
  columns_.steering = column_of({1, 0, 127, 0, 0, 2, 0, 1, 5, 8});
  add(chunk(ChunkKind::kEvents, *encode(columns_), columns_.count, 0));
  TapeReader reader = finish_and_open();
  EXPECT_EQ(read_steering(reader),
            (std::vector<SteeringCall>{{3, 0, SteeringOp::kMallopt, -3, 4}}));
}

TEST_F(CraftedChunk, WithSteeringBehindItsCallsIsDamaged) {
  columns_.steering = column_of({7, 0, 1, 0, 0});
  expect_damaged("its steering column is wrong");
}

TEST_F(CraftedChunk, WithHalfASteeringCallIsDamaged) {
  columns_.steering = column_of({6, 0, 1, 0});
  expect_damaged("its steering column is wrong");
}

// A byte each, which would be 40 in memory.
TEST_F(CraftedChunk, WithMoreSteeringThanAWriterPutsThereIsDamaged) {
  std::vector<uint8_t> trims(5 * (kMostSteeringPerChunk + 1), 0);
  for (size_t op = 2; op < trims.size(); op += 5) trims[op] = 2;
  columns_.steering = column_of(trims);
  expect_damaged("its steering column is wrong");
}

TEST_F(CraftedChunk, WithTooFewAgesIsDamaged) {
  columns_.ages = column_of({2, 2});
  expect_damaged("its age column is wrong");
}

TEST_F(CraftedChunk, WithTooManyAgesIsDamaged) {
  columns_.ages = column_of({2, 2, 1, 0});
  expect_damaged("a column is longer than its events");
}

TEST_F(CraftedChunk, WithTooManyHighAgesIsDamaged) {
  columns_.high_ages = column_of({0, 0, 0, 0});
  expect_damaged("a column is longer than its events");
}

TEST_F(CraftedChunk, WithAnAgeOfMoreThan64BitsIsDamaged) {
  columns_.high_ages = column_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0, 0});
  expect_damaged("its age column is wrong");
}

TEST_F(CraftedChunk, WithNullForABlockThatItDidNotHandOutIsDamaged) {
  columns_.freed = column_of({0});
  expect_damaged("its freed-address column is wrong");
}

// 16 and the distance that leads back to 0.
TEST_F(CraftedChunk, WithNullByADistanceIsDamaged) {
  columns_.addresses[0] = column_of({17, 1, 1});
  expect_damaged("its size or address column is wrong");
}

TEST_F(CraftedChunk, WithSizeClassesOfALaterVersionIsDamaged) {
  Words words = *encode(columns_of(std::vector<Event>(6, tests::malloc_event(1, 0x5000))));
  auto* const bytes = reinterpret_cast<uint8_t*>(words.data() + 2);  // count, unit, size classes
  ASSERT_EQ(bytes[8], 6);
  ASSERT_EQ(bytes[13], 0);
  bytes[13] = kSizeClassKinds;
  add(chunk(ChunkKind::kEvents, words, 6, 0));
  TapeReader reader = finish_and_open();
  EXPECT_TRUE(tests::read_events(reader).empty());
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].reason, "it has size classes unknown to this version");
}

// Reserved for later versions, docs/tape-format.md.
TEST_F(CraftedTape, WithChunksOfLaterKindsIsRead) {
  add(chunk(ChunkKind::kEvents, message_of(events(0, 100), 0), 100, 0));
  add(chunk(static_cast<ChunkKind>(7), Words(3), 0, 100));
  add(chunk(static_cast<ChunkKind>(8), Words(3), 0, 100));
  add(chunk(ChunkKind::kEvents, message_of(events(100, 200), 100), 100, 100));
  TapeReader reader = finish_and_open();
  expect_gives(reader, 0, 200);
  EXPECT_TRUE(reader.damages().empty());
}

TEST_F(CraftedTape, WithFramesThatAreNumberedTwiceKeepsTheFirst) {
  for (const uint64_t address : {0x400000, 0x500000}) {
    EventEncoder encoder;
    encoder.set_has_stacks();
    encoder.append(tests::malloc_event(1, 0x5000), encoder.add_frame({0, address}));
    EventColumns columns = encoder.take();
    columns.first_event = address == 0x400000 ? 0 : 1;
    const Words words = *encode(columns);
    add(chunk(ChunkKind::kEvents, words, 1, columns.first_event));
  }
  TapeReader reader = finish_and_open();
  const auto stacks = reader.read_stacks();
  ASSERT_TRUE(stacks.ok());
  EXPECT_EQ(stacks->find(1)->return_address, 0x400000u);
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].reason, "its frames are numbered like those before them");
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
