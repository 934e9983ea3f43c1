// Heaps that a tape has behind some of its calls.
#include "schema/tape/keyframe.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "schema/tape/tape_output.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

constexpr size_t kCalls = 200'000;
constexpr uint64_t kBetween = 60'000;
constexpr FrameNumber kCallsPerFrame = 50;

// What a map makes of the calls: a block keeps the birth, the thread and the stack of the call that
// made it first.
struct Known {
  uint64_t size = 0;
  uint32_t thread = 0;
  FrameNumber stack = 0;
  uint64_t birth = 0;
};
std::map<uint64_t, Known> heap_after(std::span<const Event> events,
                                     std::span<const FrameNumber> stacks) {
  std::map<uint64_t, Known> heap;
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (is_failed(event)) continue;
    Known block{event.size, event.thread, stacks[i], i + 1};
    const auto old = heap.find(event.freed_address);
    if (event.freed_address != 0 && old != heap.end()) {
      if (op_info(event.op).kind == OpKind::kResize) {
        block = old->second;
        block.size = event.size;
      }
      heap.erase(old);
    }
    if (event.address != 0) heap[event.address] = block;
  }
  return heap;
}

class KeyframeTest : public testing::Test {
 protected:
  KeyframeTest() {
    tests::Random random(tests::test_seed());
    events_ = tests::eventful_events(random, kCalls, 16, true);
    events_.resize(kCalls);
    for (size_t i = 0; i < kCalls; ++i) {
      const bool has_block = events_[i].address != 0;
      stacks_.push_back(has_block ? 1 + static_cast<FrameNumber>(i) / kCallsPerFrame : 0);
    }
  }

  static Frame frame_of(FrameNumber number) {
    return {
        .caller = number / 3, .return_address = 0x400000 + 7 * number, .guesses = number % 5 == 0};
  }
  static CodeMapping mapping_of(FrameNumber frames) {
    CodeMapping mapping;
    mapping.frames = frames;
    mapping.range = {0x400000 + frames, 0x500000 + frames};
    mapping.path = "/opt/app";
    return mapping;
  }

  // With a keyframe every kBetween calls.
  void write(bool has_stacks = true) {
    const auto writer = std::move(*TapeWriter::create(path_, tests::sample_header()));
    if (has_stacks) writer->encoder().set_has_stacks();
    Stacks frames;
    KeyframeWriter keyframes(*writer, frames, {.calls = kBetween, .most_percent = 1000});
    for (size_t i = 0; i < kCalls; ++i) {
      if (has_stacks && i % kCallsPerFrame == 0) {
        const Frame frame = frame_of(writer->encoder().frames() + 1);
        const FrameNumber number = writer->encoder().add_frame(frame);
        frames.add_frames(number - 1, {&frame, 1});
        if (number % 1000 == 1) {
          writer->encoder().add_mapping(mapping_of(number));
          frames.add_mapping(mapping_of(number));
        }
      }
      const FrameNumber stack = has_stacks ? stacks_[i] : 0;
      writer->append(events_[i], stack);
      keyframes.note(events_[i], stack);
      if ((i + 1) % 1000 == 0) {
        ProcessSample sample{
            .event = i + 1, .time_ns = i, .resident_bytes = 4096 * i, .regions = {}};
        sample.regions.push_back({0x10000, 0x10000 + 4096 * i});
        if (i < kBetween) sample.parts.malloc_bytes = i;
        writer->add_sample(sample);
        keyframes.note(sample);
      }
    }
    ASSERT_TRUE(writer->finish({}).ok());
  }
  TapeReader open(OnDamage on_damage = OnDamage::kStop) const {
    auto tape = TapeReader::open(path_, on_damage);
    EXPECT_TRUE(tape.ok()) << tape.error().message;
    return std::move(*tape);
  }
  void expect_heap(const Keyframe& keyframe, bool has_stacks) const {
    const auto heap = heap_after(std::span(events_).first(keyframe.event), stacks_);
    ASSERT_EQ(keyframe.blocks.size(), heap.size());
    ASSERT_EQ(keyframe.births.size(), heap.size());
    ASSERT_EQ(keyframe.stacks.size(), has_stacks ? heap.size() : 0);
    for (size_t i = 0; i < keyframe.blocks.size(); ++i) {
      const Event& block = keyframe.blocks[i];
      const auto known = heap.find(block.address);
      ASSERT_NE(known, heap.end()) << i;
      EXPECT_EQ(block.size, known->second.size);
      EXPECT_EQ(block.thread, known->second.thread);
      EXPECT_EQ(keyframe.births[i], known->second.birth);
      EXPECT_EQ(has_stacks ? keyframe.stacks[i] : known->second.stack, known->second.stack);
    }
  }
  // A tape of one malloc, whose keyframe was changed before it was written.
  template <typename Change>
  TapeReader changed(Change change, OnDamage on_damage = OnDamage::kStop) const {
    TapeOutput output(path_, tests::sample_header());
    FrameCompressor compressor;
    EventEncoder encoder;
    for (const uint64_t address : {0x1000, 0x2000, 0x3000}) {
      encoder.append(tests::malloc_event(8, address));
    }
    output.write(encoder.take(), compressor);
    for (const uint64_t address : {0x1000, 0x2000, 0x3000}) {
      encoder.append(tests::malloc_event(8, address));
    }
    EventColumns keyframe = encoder.take();
    keyframe.first_event = keyframe.live_blocks = 3;
    for (int i = 0; i < 3; ++i) keyframe.births.put(1);
    change(keyframe);
    EXPECT_NE(output.add_keyframe({&keyframe, 1}, UINT64_MAX, compressor), 0u);
    EXPECT_TRUE(output.finish({}, {}, compressor).ok());
    return open(on_damage);
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("a.tape");
  std::vector<Event> events_;
  std::vector<FrameNumber> stacks_;
};

TEST_F(KeyframeTest, AreTheHeapBehindTheirCalls) {
  for (const bool has_stacks : {false, true}) {
    write(has_stacks);
    TapeReader tape = open();
    EXPECT_EQ(tape.keyframes(), (std::vector<uint64_t>{60'000, 120'000, 180'000}));
    for (const uint64_t call : tape.keyframes()) {
      const auto keyframe = tape.read_keyframe(call + 100);
      ASSERT_TRUE(keyframe.ok()) << keyframe.error().message;
      ASSERT_TRUE(keyframe->has_value());
      EXPECT_EQ((*keyframe)->event, call);
      expect_heap(**keyframe, has_stacks);
    }
    EXPECT_TRUE(tests::read_events(tape) == events_) << "keyframes are no calls";
  }
}

TEST_F(KeyframeTest, AreTheLatestBefore) {
  write();
  TapeReader tape = open();
  const auto call_at = [&tape](uint64_t event) {
    const auto keyframe = tape.read_keyframe(event);
    return keyframe.ok() && *keyframe ? (*keyframe)->event : 0;
  };
  EXPECT_EQ(call_at(0), 0u);
  EXPECT_EQ(call_at(59'999), 0u);
  EXPECT_EQ(call_at(60'000), 60'000u);
  EXPECT_EQ(call_at(119'999), 60'000u);
  EXPECT_EQ(call_at(120'000), 120'000u);
  EXPECT_EQ(call_at(kCalls), 180'000u);
  EXPECT_EQ(call_at(UINT64_MAX), 0u) << "no such call";
}

TEST_F(KeyframeTest, LeaveTheReaderWhereItIs) {
  write();
  TapeReader tape = open();
  ASSERT_TRUE(tape.seek(130'000).ok());
  ASSERT_TRUE(tape.read_keyframe(70'000).ok());
  const auto rest = tests::read_events(tape);
  ASSERT_EQ(rest.size(), kCalls - 130'000);
  EXPECT_EQ(rest.front(), events_[130'000]);
}

// Those of its blocks, and of calls behind it up to the one that is asked for.
TEST_F(KeyframeTest, HaveTheFramesOfTheCallsBefore) {
  write();
  TapeReader tape = open();
  const auto all = tape.read_stacks();
  ASSERT_TRUE(all.ok());
  for (const uint64_t call : tape.keyframes()) {
    const auto keyframe = tape.read_keyframe(call);
    ASSERT_TRUE(keyframe.ok() && *keyframe);
    const auto some = tape.read_stacks(**keyframe, call + 100);
    ASSERT_TRUE(some.ok()) << some.error().message;
    ASSERT_GE(some->limit(), call / kCallsPerFrame + 3);
    ASSERT_LE(some->limit(), call / kCallsPerFrame + 2 + kEventsPerChunk / kCallsPerFrame);
    for (FrameNumber number = 1; number < some->limit(); ++number) {
      ASSERT_NE(some->find(number), nullptr) << number;
      EXPECT_EQ(*some->find(number), *all->find(number)) << number;
    }
    const auto first = [&](const Stacks& stacks) {
      const auto& list = stacks.mappings();
      return std::vector(list.begin(), list.begin() + static_cast<ptrdiff_t>(call / 50'000 + 1));
    };
    EXPECT_TRUE(first(*some) == first(*all));
  }
}

TEST_F(KeyframeTest, HaveTheLastSampleAndWhatMallocHadLast) {
  write();
  TapeReader tape = open();
  const auto keyframe = tape.read_keyframe(130'000);
  ASSERT_TRUE(keyframe.ok() && *keyframe);
  const auto& sample = (*keyframe)->sample;
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->event, 120'000u);
  EXPECT_EQ(sample->resident_bytes, 4096u * 119'999);
  EXPECT_EQ(sample->parts.malloc_bytes, std::optional<uint64_t>(59'999));
  EXPECT_EQ(sample->regions,
            (std::vector<base::AddressRange>{{0x10000, 0x10000 + 4096 * 119'999}}));
}

TEST_F(KeyframeTest, TakeSeveralChunksForManyBlocks) {
  constexpr uint64_t kBlocks = 3 * kEventsPerChunk + 5;
  const auto writer = std::move(*TapeWriter::create(path_, tests::sample_header()));
  const Stacks none;
  KeyframeWriter keyframes(*writer, none, {.calls = kBlocks, .most_percent = 1000});
  for (uint64_t i = 0; i < kBlocks; ++i) {
    const Event event = tests::malloc_event(i + 1, 0x10000 + 16 * i);
    writer->append(event);
    keyframes.note(event, 0);
  }
  keyframes.note(ProcessSample());
  const uint64_t end = writer->bytes();
  ASSERT_TRUE(writer->finish({}).ok());
  TapeReader tape = open();
  const auto keyframe = tape.read_keyframe(kBlocks);
  ASSERT_TRUE(keyframe.ok() && *keyframe);
  EXPECT_TRUE((*keyframe)->blocks == tests::read_events(tape));
  EXPECT_EQ((*keyframe)->births.back(), kBlocks);
  // Its writer was killed before the last chunk of the keyframe was whole.
  std::filesystem::resize_file(path_, end - 10);
  std::filesystem::resize_file(path_, end + 4096);  // room that it had reserved
  TapeReader cut = open();
  EXPECT_FALSE(cut.finished());
  EXPECT_EQ(tests::read_events(cut).size(), kBlocks);
  const auto torn = cut.read_keyframe(kBlocks);
  ASSERT_TRUE(torn.ok()) << torn.error().message;
  EXPECT_FALSE(torn->has_value());
}

// Where all are as large, a share of the tape has room for some of them.
TEST_F(KeyframeTest, TakeNoMoreOfTheTapeThanTheyMay) {
  const auto bytes_with = [this](uint64_t percent) {
    const auto writer = std::move(*TapeWriter::create(path_, tests::sample_header()));
    const Stacks none;
    KeyframeWriter keyframes(*writer, none, {.calls = 5'000, .most_percent = percent});
    for (const Event& event : events_) {
      writer->append(event);
      keyframes.note(event, 0);
      if (writer->events() % 5'000 == 0) keyframes.note(ProcessSample());
    }
    EXPECT_TRUE(writer->finish({}).ok());
    return std::filesystem::file_size(path_);
  };
  const uint64_t plain_bytes = bytes_with(0);
  EXPECT_TRUE(open().keyframes().empty());
  EXPECT_LE(bytes_with(3), plain_bytes * 100 / 97 + 2048);
  const size_t some = open().keyframes().size();
  EXPECT_GT(some, 0u);
  EXPECT_GT(bytes_with(1000), plain_bytes * 100 / 97 + 2048);
  EXPECT_GT(open().keyframes().size(), some);
}

TEST_F(KeyframeTest, OfHostileTapesAreRefused) {
  const auto expect_damage = [this](auto change) {
    TapeReader tape = changed(change);
    const auto keyframe = tape.read_keyframe(3);
    ASSERT_FALSE(keyframe.ok());
    EXPECT_EQ(keyframe.error().code, base::ErrorCode::kDamaged);
    EXPECT_TRUE(keyframe.error().byte_offset);
    TapeReader lenient = changed(change, OnDamage::kSkip);
    const auto none = lenient.read_keyframe(3);
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(none->has_value());
    EXPECT_EQ(lenient.damages().size(), 1u);
    EXPECT_EQ(tests::read_events(lenient).size(), 3u) << "it costs no call";
  };
  const auto births = [](std::vector<uint64_t> distances) {
    return [distances = std::move(distances)](EventColumns& columns) {
      columns.births.clear();
      for (const uint64_t distance : distances) columns.births.put(distance);
    };
  };
  expect_damage(births({1, 1}));     // fewer than blocks
  expect_damage(births({1, 0, 1}));  // twice the same
  expect_damage(births({1, 1, 2}));  // behind the keyframe
  expect_damage(births({1, UINT64_MAX, 2}));
  expect_damage([](EventColumns& columns) { columns.ops.clear(); });
  const auto with_op = [](Op op) {
    return [op](EventColumns& columns) {
      const std::vector<uint8_t> ops(3, static_cast<uint8_t>(op));
      columns.ops.clear();
      columns.ops.put_bytes(ops);
    };
  };
  expect_damage(with_op(Op::kFree));
  expect_damage(with_op(Op::kRealloc));
}

// Those of another keyframe are lost, so all are read from the chunks of calls, which have none.
TEST_F(KeyframeTest, AreNotAskedForFramesIfSomeAreMissing) {
  TapeReader tape = changed([](EventColumns& columns) {
    columns.first_frame = 7;
    columns.frames.put(1);
    columns.frames.put(zigzag(0x400000));
    for (int i = 0; i < 3; ++i) columns.stacks.put(8);
  });
  const auto keyframe = tape.read_keyframe(3);
  ASSERT_TRUE(keyframe.ok() && *keyframe);
  const auto stacks = tape.read_stacks(**keyframe, 3);
  ASSERT_TRUE(stacks.ok()) << stacks.error().message;
  EXPECT_EQ(stacks->limit(), 1u);
}

TEST_F(KeyframeTest, OfWhichAPartIsMissingAreNotThere) {
  TapeReader tape = changed([](EventColumns& columns) { columns.live_blocks = 4; });
  const auto keyframe = tape.read_keyframe(3);
  ASSERT_TRUE(keyframe.ok());
  EXPECT_FALSE(keyframe->has_value());
}

TEST_F(KeyframeTest, StandBehindSamplesOfTheProcess) {
  const auto writer = std::move(*TapeWriter::create(path_, tests::sample_header()));
  const Stacks none;
  KeyframeWriter keyframes(*writer, none, {.calls = 1'000, .most_percent = 1000});
  for (size_t i = 1; i <= 5'000; ++i) {
    writer->append(events_[i - 1]);
    keyframes.note(events_[i - 1], 0);
    if (i == 900 || i == 1'200 || i == 1'300 || i == 4'000) keyframes.note(ProcessSample());
  }
  ASSERT_TRUE(writer->finish({}).ok());
  EXPECT_EQ(open().keyframes(), (std::vector<uint64_t>{1'200, 4'000}));
}

TEST_F(KeyframeTest, AreNotThereWithoutBlocksOrSamples) {
  const std::vector<Event> events = {tests::malloc_event(8, 0x1000), tests::free_event(0x1000)};
  for (const bool is_sampled : {false, true}) {
    for (const uint64_t calls : {1, 2}) {
      const auto writer = std::move(*TapeWriter::create(path_, tests::sample_header()));
      const Stacks none;
      KeyframeWriter keyframes(*writer, none, {.calls = calls, .most_percent = 1000});
      for (const Event& event : events) {
        writer->append(event);
        keyframes.note(event, 0);
        if (is_sampled) keyframes.note(ProcessSample());
      }
      ASSERT_TRUE(writer->finish({}).ok());
      EXPECT_EQ(open().keyframes().size(), is_sampled && calls == 1 ? 1 : 0);
    }
  }
}

}  // namespace
}  // namespace heaptape::schema
