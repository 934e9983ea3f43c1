// What a reader says of tapes that something happened to.
#include <gtest/gtest.h>

#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

class DamagedTape : public testing::Test {
 protected:
  DamagedTape() {
    tests::Random random(3);
    events_ = tests::plausible_events(random, 3000);
    auto writer = TapeWriter::create(path_, tests::sample_header());
    for (size_t i = 0; i < events_.size(); ++i) {
      (*writer)->append(events_[i]);
      if (i % 1000 == 999) (*writer)->flush();
    }
    EXPECT_TRUE((*writer)->finish({}).ok());
    bytes_ = tests::read_bytes(path_);
    chunks_ = TapeReader::open(path_)->chunks();
  }

  // Chunk i of the events (0..2).
  ChunkRef event_chunk(size_t i) const { return chunks_[1 + i]; }
  void write(const std::string& bytes) { tests::write_bytes(path_, bytes); }
  // The tape with another index than it was written with.
  void write_with_index(const std::vector<ChunkRef>& index) {
    FrameCompressor compressor;
    const auto frame = compressor.compress(*encode(index));
    const auto header = pack({ChunkKind::kIndex, static_cast<uint32_t>(frame.size()), 0,
                              events_.size(), crc32_of(frame)});
    const uint64_t offset = index_offset();
    const auto trailer = pack_trailer(offset);
    write(bytes_.substr(0, offset) + std::string(header.begin(), header.end()) +
          std::string(frame.begin(), frame.end()) + std::string(trailer.begin(), trailer.end()));
  }
  uint64_t index_offset() const {
    std::array<uint8_t, kTrailerBytes> trailer;
    std::memcpy(trailer.data(), bytes_.data() + bytes_.size() - kTrailerBytes, kTrailerBytes);
    return *unpack_trailer(trailer);
  }
  void flip(uint64_t offset) {
    std::string changed = bytes_;
    changed[offset] = static_cast<char>(changed[offset] ^ 0x10);
    write(changed);
  }
  base::Error open_error() {
    auto reader = TapeReader::open(path_);
    EXPECT_FALSE(reader.ok());
    return reader.ok() ? base::Error{} : reader.error();
  }
  TapeReader open_skipping() {
    auto reader = TapeReader::open(path_, TapeReader::OnDamage::kSkip);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  std::vector<Event> events(size_t from, size_t to) const {
    return {events_.begin() + static_cast<ptrdiff_t>(from),
            events_.begin() + static_cast<ptrdiff_t>(to)};
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("run.tape");
  std::vector<Event> events_;
  std::string bytes_;
  std::vector<ChunkRef> chunks_;
};

TEST_F(DamagedTape, MissingIsNotFoundByName) {
  const auto reader = TapeReader::open(dir_.file("none.tape"));
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, base::ErrorCode::kNotFound);
  EXPECT_NE(reader.error().message.find("none.tape"), std::string::npos);
}

TEST_F(DamagedTape, MissingPointsToItsPartialFile) {
  std::filesystem::rename(path_, path_ + ".partial");
  EXPECT_NE(open_error().message.find("run.tape.partial"), std::string::npos);
}

TEST_F(DamagedTape, EmptyIsForeign) {
  write("");
  EXPECT_EQ(open_error().code, base::ErrorCode::kForeign);
}

TEST_F(DamagedTape, OfAnotherKindIsForeign) {
  write("#!/bin/sh\necho hello, this is not a tape\n");
  EXPECT_EQ(open_error().code, base::ErrorCode::kForeign);
}

TEST_F(DamagedTape, DirectoryIsForeign) {
  EXPECT_EQ(TapeReader::open(dir_.path().string()).error().code, base::ErrorCode::kForeign);
}

TEST_F(DamagedTape, OfANewerMajorVersionIsRefusedByName) {
  std::string changed = bytes_;
  changed[8] = kMajorVersion + 1;
  const auto* start = reinterpret_cast<const uint8_t*>(changed.data());
  const uint32_t crc = crc32_of({start, 12});
  std::memcpy(&changed[12], &crc, sizeof crc);
  write(changed);
  const base::Error error = open_error();
  EXPECT_EQ(error.code, base::ErrorCode::kNewerVersion);
  EXPECT_NE(error.message.find("format 3.0"), std::string::npos) << error.message;
}

TEST_F(DamagedTape, CutInsideAChunkKeepsTheChunksBefore) {
  for (const uint64_t kept : {0u, 20u, 40u}) {
    write(bytes_.substr(0, event_chunk(2).offset + kept));
    auto reader = TapeReader::open(path_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ(tests::read_events(*reader), events(0, 2000));
    EXPECT_FALSE(reader->summary().has_value());
  }
}

TEST_F(DamagedTape, CutShortSaysWhereItsEndIsMissing) {
  write(bytes_.substr(0, event_chunk(2).offset + 40));
  auto reader = TapeReader::open(path_);
  EXPECT_FALSE(reader->finished());
  EXPECT_EQ(reader->cut_at(), event_chunk(2).offset);
}

TEST_F(DamagedTape, CutShortIsStillRefusedForDamageBeforeThat) {
  std::string bytes = bytes_.substr(0, event_chunk(2).offset);
  bytes[event_chunk(0).offset + 9] ^= 1;
  write(bytes);
  EXPECT_EQ(open_error().byte_offset, event_chunk(0).offset);
}

TEST_F(DamagedTape, WithAnEndInFrontOfRoomThatWasNotGivenBackIsWhole) {
  write(bytes_ + std::string(100, '\0'));  // killed between trailer and cut
  auto reader = TapeReader::open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_TRUE(reader->finished());
  EXPECT_EQ(tests::read_events(*reader), events_);
}

TEST_F(DamagedTape, WithBytesBehindItsEndIsNotWhole) {
  write(bytes_ + std::string(100, 'x'));
  auto reader = TapeReader::open(path_);
  EXPECT_FALSE(reader.ok() && reader->finished());
}

TEST_F(DamagedTape, FlippedBitInAPayloadLosesThatChunkOnly) {
  flip(event_chunk(1).offset + 50);
  TapeReader reader = open_skipping();
  std::vector<Event> expected = events(0, 1000);
  const auto last = events(2000, 3000);
  expected.insert(expected.end(), last.begin(), last.end());
  EXPECT_EQ(tests::read_events(reader), expected);
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].offset, event_chunk(1).offset);
  EXPECT_EQ(reader.damages()[0].lost_events, 1000u);
}

TEST_F(DamagedTape, FlippedBitInAChunkHeaderLosesThatChunkOnly) {
  flip(event_chunk(1).offset + 9);
  TapeReader reader = open_skipping();
  EXPECT_EQ(tests::read_events(reader).size(), 2000u);
}

TEST_F(DamagedTape, WithoutAReadableIndexIsWalkedChunkByChunk) {
  flip(bytes_.size() - kTrailerBytes - 3);
  TapeReader reader = open_skipping();
  EXPECT_EQ(tests::read_events(reader), events_);
  EXPECT_EQ(reader.damages().size(), 1u);
}

TEST_F(DamagedTape, WhoseIndexLeavesAChunkOutIsRefused) {
  auto index = chunks_;
  index.erase(index.begin() + 2);
  write_with_index(index);
  const base::Error error = open_error();
  EXPECT_EQ(error.code, base::ErrorCode::kDamaged);
  EXPECT_EQ(error.byte_offset, event_chunk(2).offset);
}

TEST_F(DamagedTape, WhoseIndexLeavesAChunkOutSaysHowManyEventsAreLost) {
  auto index = chunks_;
  index.erase(index.begin() + 1);
  write_with_index(index);
  TapeReader reader = open_skipping();
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_EQ(reader.damages()[0].lost_events, 1000u);
  EXPECT_EQ(tests::read_events(reader), events(1000, 3000));
}

TEST_F(DamagedTape, WhoseIndexNamesAChunkTwiceIsReadOnce) {
  auto index = chunks_;
  index.insert(index.begin() + 2, index[1]);
  write_with_index(index);
  EXPECT_EQ(open_error().code, base::ErrorCode::kDamaged);
  TapeReader reader = open_skipping();
  EXPECT_EQ(tests::read_events(reader), events_);
}

TEST_F(DamagedTape, WhoseIndexClaimsMoreEventsThanCanBeCountedIsRefused) {
  auto index = chunks_;
  index[3].first_event = UINT64_MAX - 10;
  write_with_index(index);
  EXPECT_EQ(open_error().code, base::ErrorCode::kDamaged);
  EXPECT_EQ(open_skipping().events(), 2000u);
}

TEST_F(DamagedTape, WalkedChunkByChunkKnowsHowManyEventsABadHeaderCost) {
  std::string bytes = bytes_.substr(0, index_offset());  // without its index
  bytes[event_chunk(1).offset + 9] ^= 1;
  write(bytes);
  TapeReader reader = open_skipping();
  uint64_t lost = 0;
  for (const Damage& damage : reader.damages()) lost += damage.lost_events;
  EXPECT_EQ(lost, 1000u);
  EXPECT_EQ(tests::read_events(reader).size(), 2000u);
}

TEST_F(DamagedTape, IsReadFromBehindALostChunkWhenThatIsAskedFor) {
  std::string bytes = bytes_.substr(0, index_offset());
  bytes[event_chunk(1).offset + 9] ^= 1;
  write(bytes);
  TapeReader reader = open_skipping();
  ASSERT_TRUE(reader.seek(1500).ok());
  EXPECT_EQ(tests::read_events(reader), events(2000, 3000));
}

TEST_F(DamagedTape, IsReadOnFromAMarkerThatLiesAcrossTwoWindowsOfTheSearch) {
  constexpr uint64_t kWindowBytes = 1 << 16;  // of TapeFile::find_chunk
  const uint64_t damage = event_chunk(0).offset;
  for (const uint64_t before : {1u, 2u, 3u}) {  // bytes of the marker in the first window
    const uint64_t junk = 1 + kWindowBytes - before;
    write(bytes_.substr(0, damage) + std::string(junk, '\0') +
          bytes_.substr(damage, index_offset() - damage));
    TapeReader reader = open_skipping();
    EXPECT_EQ(tests::read_events(reader).size(), 3000u) << before;
    EXPECT_EQ(reader.damages()[0].bytes, junk);
  }
}

TEST_F(DamagedTape, BytesBehindTheEndAreNoticed) {
  write(bytes_ + "more");
  EXPECT_EQ(open_error().byte_offset, bytes_.size() - kTrailerBytes);
}

TEST_F(DamagedTape, AnyFlippedBitAnywhereIsNoticed) {
  for (uint64_t offset = 0; offset < bytes_.size(); ++offset) {
    flip(offset);
    auto reader = TapeReader::open(path_, TapeReader::OnDamage::kSkip);
    if (!reader.ok()) continue;
    EventBatch batch;
    do {
      ASSERT_TRUE(reader->read(batch, 4096).ok());
    } while (!batch.events.empty());
    EXPECT_FALSE(reader->damages().empty()) << "byte " << offset;
  }
}

TEST_F(DamagedTape, CutAnywhereReadsOrSaysWhyNot) {
  for (uint64_t size = 0; size < bytes_.size(); size += 7) {
    write(bytes_.substr(0, size));
    auto reader = TapeReader::open(path_);
    if (reader.ok()) {
      EXPECT_FALSE(reader->finished()) << "cut at " << size;
    } else {
      EXPECT_FALSE(reader.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace heaptape::schema
