// Tapes whose writer was killed, or is still at it.
#include <gtest/gtest.h>

#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

class UnfinishedTape : public testing::Test {
 protected:
  UnfinishedTape() {
    tests::Random random(11);
    events_ = tests::plausible_events(random, kEventsPerChunk + 3000, 16, 3);
  }
  // Events up to the one before `end`.
  void append_to(size_t end) {
    while (writer_->events() < end) writer_->append(events_[writer_->events()]);
  }
  TapeReader open() {
    auto reader = TapeReader::open(partial_);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  std::vector<Event> read() {
    TapeReader reader = open();
    return tests::read_events(reader);
  }
  std::vector<Event> events_to(size_t end) const {
    return {events_.begin(), events_.begin() + static_cast<ptrdiff_t>(end)};
  }
  uint64_t offset_of_parts() { return open().chunks().back().offset; }
  // Changes the file behind the writer's back.
  void tear(uint64_t offset, size_t size) {
    std::string bytes = tests::read_bytes(partial_);
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(offset), size, '\0');
    tests::write_bytes(partial_, bytes);
  }

  tests::TempDir dir_;
  std::string partial_ = dir_.file("t.partial");
  std::vector<Event> events_;
  std::unique_ptr<TapeWriter> writer_ =
      std::move(*TapeWriter::create(dir_.file("t"), tests::sample_header()));
};

TEST_F(UnfinishedTape, HoldsWhatWasSaved) {
  append_to(1000);
  writer_->save();
  append_to(1500);
  EXPECT_EQ(read(), events_to(1000));
  EXPECT_FALSE(open().finished());
}

TEST_F(UnfinishedTape, HoldsEverySaveOfAChunk) {
  for (const size_t end : {1u, 700u, 701u, 2000u, 2600u}) {
    append_to(end);
    writer_->save();
    EXPECT_EQ(read(), events_to(end));
  }
}

TEST_F(UnfinishedTape, HoldsSavesBehindItsWholeChunks) {
  append_to(kEventsPerChunk - 10);
  writer_->save();
  append_to(kEventsPerChunk + 1);
  EXPECT_EQ(read(), events_to(kEventsPerChunk));
  append_to(kEventsPerChunk + 2000);
  writer_->save();
  EXPECT_EQ(read(), events_to(kEventsPerChunk + 2000));
}

TEST_F(UnfinishedTape, HoldsTheSavesOfAChunkThatWasTornWhileItWasWritten) {
  append_to(kEventsPerChunk - 10);
  writer_->save();
  append_to(kEventsPerChunk + 1);
  const ChunkRef torn = open().chunks().back();
  tear(torn.offset + 5000, 50'000);
  EXPECT_EQ(read(), events_to(kEventsPerChunk - 10));
}

TEST_F(UnfinishedTape, KeepsTheSavesBeforeATornOne) {
  append_to(1000);
  writer_->save();
  const uint64_t first_end = std::filesystem::file_size(partial_);
  append_to(2000);
  writer_->save();
  tear(first_end + 100, 50);
  EXPECT_EQ(read(), events_to(1000));
}

TEST_F(UnfinishedTape, HoldsTimesAndSamplesOfItsSaves) {
  append_to(10);
  writer_->add_time(500);
  writer_->add_sample({0, 400, 4096, {{0x5000, 0x6000}}});
  writer_->save();
  append_to(20);
  writer_->add_time(700);
  writer_->save();
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 100).ok());
  EXPECT_EQ(batch.times, (std::vector<TimeSample>{{10, 500}, {20, 700}}));
  EXPECT_EQ(batch.samples, (std::vector<ProcessSample>{{10, 400, 4096, {{0x5000, 0x6000}}}}));
}

TEST_F(UnfinishedTape, HoldsTheThreadEndsOfItsSaves) {
  append_to(10);
  writer_->add_end(2);
  writer_->save();
  append_to(20);
  writer_->add_end(1);
  writer_->save();
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 100).ok());
  EXPECT_EQ(batch.thread_ends, (std::vector<ThreadEnd>{{10, 2}, {20, 1}}));
}

TEST_F(UnfinishedTape, HoldsTheMarksOfItsSaves) {
  append_to(10);
  writer_->add_mark("first", 400);
  writer_->save();
  writer_->add_mark("second", 500);
  writer_->save();
  append_to(20);
  writer_->add_mark("third", 600);
  writer_->save();
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 100).ok());
  EXPECT_EQ(batch.marks,
            (std::vector<Mark>{{10, 400, "first"}, {10, 500, "second"}, {20, 600, "third"}}));
}

// Its parts, and those of the next chunk, begin at the same call.
TEST_F(UnfinishedTape, HasNothingTwiceOfAChunkWithoutEvents) {
  append_to(10);
  writer_->flush();
  writer_->add_mark("a", 1);
  writer_->save();
  writer_->add_mark("b", 2);
  writer_->save();
  writer_->flush();
  writer_->add_mark("c", 3);
  writer_->save();
  TapeReader reader = open();
  std::string names;
  EventBatch batch;
  do {
    ASSERT_TRUE(reader.read(batch, 100).ok());
    for (const Mark& mark : batch.marks) names += mark.name;
  } while (!batch.events.empty());
  EXPECT_EQ(names, "abc");
}

TEST_F(UnfinishedTape, IsReadFromAnyEvent) {
  append_to(kEventsPerChunk + 2000);
  writer_->save();
  TapeReader reader = open();
  ASSERT_TRUE(reader.seek(kEventsPerChunk + 1999).ok());
  EXPECT_EQ(tests::read_events(reader), std::vector<Event>{events_[kEventsPerChunk + 1999]});
}

TEST_F(UnfinishedTape, StaysReadableForThoseWhoOpenedItWhenItIsFinished) {
  append_to(1000);
  writer_->save();
  TapeReader reader = open();
  append_to(events_.size());
  ASSERT_TRUE(writer_->finish({}).ok());
  EXPECT_EQ(tests::read_events(reader), events_to(1000));
}

TEST_F(UnfinishedTape, LeavesNothingOfItsSavesInTheFinishedOne) {
  append_to(1000);
  writer_->save();
  EXPECT_GT(offset_of_parts(), kPartGapBytes / 2);
  ASSERT_TRUE(writer_->finish({}).ok());
  EXPECT_EQ(std::filesystem::file_size(dir_.file("t")), writer_->bytes());
  EXPECT_LT(writer_->bytes(), 20'000u);
}

TEST_F(UnfinishedTape, IsNotTakenForAnotherChunksSaves) {
  append_to(2000);
  writer_->save();
  writer_->flush();
  append_to(3000);
  EXPECT_EQ(read(), events_to(2000));
  writer_->add_sample({});  // a part without events goes on from the same event as the chunk before
  writer_->save();
  EXPECT_EQ(read(), events_to(3000));
}

TEST_F(UnfinishedTape, EndsAChunkWhoseSamplesTakeTooMuch) {
  const std::vector<base::AddressRange> regions(kSampleBytesPerChunk / 64, {0x1000, 0x2000});
  for (int i = 0; i < 20; ++i) writer_->add_sample({0, 0, 0, regions});
  EXPECT_GE(open().chunks().size(), 3u);
}

}  // namespace
}  // namespace heaptape::schema
