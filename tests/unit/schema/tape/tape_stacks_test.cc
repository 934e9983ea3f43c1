// Call stacks on a tape.
#include <gtest/gtest.h>

#include "schema/tape/event_encoder.h"
#include "schema/tape/stack_copier.h"
#include "schema/tape/stack_end.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

using tests::free_event;
using tests::malloc_event;

class TapeStacks : public testing::Test {
 protected:
  TapeStacks() { writer_->encoder().set_has_stacks(); }

  TapeReader finish() {
    EXPECT_TRUE(writer_->finish({}).ok());
    return open(path_);
  }
  static TapeReader open(const std::string& path) {
    auto reader = TapeReader::open(path);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  static Stacks stacks_of(TapeReader& reader) {
    auto stacks = reader.read_stacks();
    EXPECT_TRUE(stacks.ok()) << stacks.error().message;
    return std::move(*stacks);
  }
  // Those of all calls.
  static std::vector<FrameNumber> numbers_of(TapeReader& reader) {
    std::vector<FrameNumber> numbers;
    EventBatch batch;
    do {
      EXPECT_TRUE(reader.read(batch, 777).ok());
      batch.stacks.resize(batch.events.size());
      numbers.insert(numbers.end(), batch.stacks.begin(), batch.stacks.end());
    } while (!batch.events.empty());
    return numbers;
  }
  // So many calls, each with its own frame.
  void append_calls(FrameNumber count) {
    for (FrameNumber i = 0; i < count; ++i) {
      const FrameNumber number = encoder_.add_frame({last_, 0x400000 + 8 * i});
      encoder_.append(malloc_event(16, 0x5000 + 32 * i), number);
      last_ = number % 100 == 0 ? 0 : number;
    }
  }

  tests::TempDir dir_;
  const std::string path_ = dir_.file("a.tape");
  std::unique_ptr<TapeWriter> writer_ =
      std::move(*TapeWriter::create(path_, tests::sample_header()));
  TapeEncoder& encoder_ = writer_->encoder();
  FrameNumber last_ = 0;
};

TEST_F(TapeStacks, ComeOutAsTheyWentIn) {
  const FrameNumber outer = encoder_.add_frame({0, 0x7fff00001000});
  const FrameNumber inner = encoder_.add_frame({outer, 0x400123});
  encoder_.append(malloc_event(8, 0x5000), inner);
  encoder_.append(free_event(0x5000));
  encoder_.append(malloc_event(8, 0x5000), outer);
  encoder_.append(malloc_event(8, 0x5020), 0);
  TapeReader reader = finish();
  const Stacks stacks = stacks_of(reader);
  EXPECT_EQ(*stacks.find(inner), (Frame{outer, 0x400123}));
  EXPECT_EQ(*stacks.find(outer), (Frame{0, 0x7fff00001000}));
  EXPECT_EQ(stacks.limit(), 3u);
  EXPECT_EQ(stacks.find(3), nullptr);
  EXPECT_EQ(stacks.find(0), nullptr);
  EXPECT_EQ(numbers_of(reader), (std::vector<FrameNumber>{inner, 0, outer, 0}));
}

TEST_F(TapeStacks, GoOnFromChunkToChunk) {
  append_calls(kEventsPerChunk + 1000);
  TapeReader reader = finish();
  const Stacks stacks = stacks_of(reader);
  ASSERT_EQ(stacks.limit(), kEventsPerChunk + 1001u);
  EXPECT_EQ(*stacks.find(kEventsPerChunk + 999),
            (Frame{kEventsPerChunk + 998, 0x400000 + 8 * (kEventsPerChunk + 998)}));
  EXPECT_EQ(numbers_of(reader).back(), kEventsPerChunk + 1000u);
}

TEST_F(TapeStacks, AreNumberedOnBehindAChunkWithoutAny) {
  append_calls(1);
  for (size_t i = 0; i < 2 * kEventsPerChunk; ++i) encoder_.append(free_event(0));
  append_calls(1);
  TapeReader reader = finish();
  EXPECT_EQ(stacks_of(reader).limit(), 3u);
  EXPECT_EQ(numbers_of(reader).back(), 2u);
}

TEST_F(TapeStacks, OfAnUnfinishedTapeAreThoseOfItsSaves) {
  append_calls(100);
  writer_->save();
  append_calls(50);
  writer_->save();
  TapeReader reader = open(path_ + ".partial");
  EXPECT_EQ(stacks_of(reader).limit(), 151u);
  EXPECT_EQ(numbers_of(reader).back(), 150u);
}

TEST_F(TapeStacks, KnowTheCodeThatTheyAreIn) {
  append_calls(3);
  encoder_.add_mapping({0, {0x400000, 0x500000}, 0x1000, "/bin/a \xff", "\x01\x02"});
  TapeReader reader = finish();
  const Stacks stacks = stacks_of(reader);
  ASSERT_EQ(stacks.mappings().size(), 1u);
  EXPECT_EQ(stacks.mappings()[0],
            (CodeMapping{3, {0x400000, 0x500000}, 0x1000, "/bin/a \xff", "\x01\x02"}));
}

TEST_F(TapeStacks, AreReadFromAnyEvent) {
  append_calls(5000);
  TapeReader reader = finish();
  ASSERT_TRUE(reader.seek(4000).ok());
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 2).ok());
  EXPECT_EQ(batch.stacks, (std::vector<FrameNumber>{4001, 4002}));
}

// A recursion deeper than what is recorded of it: each call comes from a new stack.
TEST_F(TapeStacks, SayWhatWasGuessed) {
  const Frame outer{0, 0x7fff00001000, true};
  const FrameNumber number = encoder_.add_frame(outer);
  const Frame inner{encoder_.add_frame({number, 0x400123}), 0x400456, true};
  encoder_.append(malloc_event(8, 0x5000), encoder_.add_frame(inner));
  TapeReader reader = finish();
  const Stacks stacks = stacks_of(reader);
  EXPECT_EQ(*stacks.find(1), outer);
  EXPECT_EQ(*stacks.find(2), (Frame{1, 0x400123}));
  EXPECT_EQ(*stacks.find(3), inner);
}

TEST_F(TapeStacks, HaveNamesOfMadeCode) {
  const CodeMapping name{0, {0x1000, 0x1020}, 0, kMadeCodePath, "", "parse"};
  encoder_.add_mapping(name);
  encoder_.append(malloc_event(8, 0x5000), encoder_.add_frame({0, 0x1008, true}));
  TapeReader reader = finish();
  const Stacks stacks = stacks_of(reader);
  EXPECT_EQ(stacks.mappings(), std::vector<CodeMapping>{name});
  const std::string copy = dir_.file("b.tape");
  auto writer = std::move(*TapeWriter::create(copy, tests::sample_header()));
  StackCopier copier(stacks, writer->encoder());
  writer->encoder().append(malloc_event(8, 0x5000), copier.copy(1));
  copier.finish();
  ASSERT_TRUE(writer->finish({}).ok());
  TapeReader copied = open(copy);
  EXPECT_EQ(stacks_of(copied).mappings(), std::vector<CodeMapping>{name});
  EXPECT_EQ(*stacks_of(copied).find(1), (Frame{0, 0x1008, true}));
}

TEST_F(TapeStacks, EndAChunkThatTheyFill) {
  for (FrameNumber i = 0; i < 3'000'000; ++i) {
    encoder_.add_frame({0, (uint64_t{i} * 0x9e3779b97f4a7c15 >> 20) | 0x1000});
  }
  encoder_.append(malloc_event(8, 0x5000), 3'000'000);
  writer_->save();
  TapeReader partial = open(path_ + ".partial");
  EXPECT_EQ(stacks_of(partial).limit(), 3'000'001u);
  TapeReader reader = finish();
  EXPECT_GT(reader.chunks().size(), 3u);
  EXPECT_EQ(stacks_of(reader).limit(), 3'000'001u);
  EXPECT_EQ(numbers_of(reader), std::vector<FrameNumber>{3'000'000});
}

TEST_F(TapeStacks, AreCopiedWithTheCodeBetweenThem) {
  Stacks from;
  from.add_mapping({0, {0x1000, 0x2000}, 0, "/bin/a", ""});
  from.add_frames(0, std::vector<Frame>{{0, 0x1010}, {1, 0x1020}, {0, 0x1030}});
  from.add_mapping({3, {0x1000, 0x2000}, 0, "/bin/b", ""});
  from.add_frames(5, std::vector<Frame>{{5, 0x1040}});  // its caller was lost, number 5
  StackCopier copier(from, encoder_);
  const FrameNumber inner = copier.copy(2);
  const FrameNumber behind = copier.copy(6);
  EXPECT_EQ(copier.copy(2), inner);
  EXPECT_EQ(copier.copy(0), 0u);
  EXPECT_EQ(copier.copy(77), 0u);
  copier.finish();
  TapeReader reader = finish();
  const Stacks stacks = stacks_of(reader);
  EXPECT_EQ(stacks.find(inner)->return_address, 0x1020u);
  EXPECT_EQ(stacks.find(stacks.find(inner)->caller)->return_address, 0x1010u);
  EXPECT_EQ(stacks.find(behind)->return_address, 0x1040u);
  const Frame* const lost = stacks.find(stacks.find(behind)->caller);
  EXPECT_EQ(*lost, (Frame{0, static_cast<uint64_t>(StackEnd::kUnknown)}));
  ASSERT_EQ(stacks.mappings().size(), 2u);
  EXPECT_EQ(stacks.mappings()[1].frames, 2u);
}

TEST_F(TapeStacks, AreCopiedWithNewCodeBehindTheFrameBeforeIt) {
  Stacks from;
  from.add_mapping({0, {0x1000, 0x2000}, 0, "/bin/a", ""});
  from.add_frames(0, std::vector<Frame>{{0, 0x1010}});
  from.add_mapping({1, {0x1000, 0x2000}, 0, "/bin/b", ""});
  from.add_frames(1, std::vector<Frame>{{0, 0x1010}});
  StackCopier copier(from, encoder_);
  copier.copy(1);
  copier.copy(2);
  TapeReader reader = finish();
  const Stacks stacks = stacks_of(reader);
  ASSERT_EQ(stacks.mappings().size(), 2u);
  EXPECT_EQ(stacks.mappings()[1].frames, 1u);
}

TEST_F(TapeStacks, TakeNoRoomOnATapeWithoutThem) {
  const std::string other = dir_.file("b.tape");
  tests::write_tape(other, {malloc_event(8, 0x5000)});
  TapeReader reader = open(other);
  EXPECT_EQ(stacks_of(reader).limit(), 1u);
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 10).ok());
  EXPECT_TRUE(batch.stacks.empty());
}

}  // namespace
}  // namespace heaptape::schema
