// Tapes of the last calls only.
#include "schema/tape/tape_window.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "schema/tape/event_encoder.h"
#include "schema/tape/live_blocks.h"
#include "schema/tape/steering_op.h"
#include "schema/tape/tape_output.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tape_contents.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

using tests::Contents;

constexpr uint64_t kBytes = 256 << 10;
constexpr size_t kEvents = 300'000;
constexpr size_t kPerChunk = 9'000;
constexpr uint32_t kThreads = 5;

class TapeWindowTest : public testing::Test {
 protected:
  static TapeHeader header(StackMode stacks) {
    TapeHeader header = tests::sample_header();
    header.stacks.mode = stacks;
    return header;
  }
  std::unique_ptr<TapeWriter> create(const std::string& name,
                                     StackMode stacks = StackMode::kUnwindTables) const {
    return std::move(*TapeWriter::create(dir_.file(name), header(stacks)));
  }
  // Everything that a tape can have, at `count` events from the first one on. The last thread ends
  // early, and has live blocks then.
  void append(TapeWriter& writer, StackMode stacks, size_t count = kEvents) const {
    tests::Random random(7);
    const auto events = tests::plausible_events(random, kEvents, 16, kThreads);
    const bool has_stacks = stacks != StackMode::kNone;
    if (has_stacks) writer.encoder().set_has_stacks();
    FrameNumber frames = 0;
    writer.append(tests::malloc_event(77, 0x7f0000000000, kThreads - 1));
    for (size_t i = 0; i < count; ++i) {
      Event event = events[i];
      if (i > kEvents / 10 && event.thread == kThreads - 1) event.thread = 0;
      if (i == kEvents / 10) writer.add_end(kThreads - 1);
      if (has_stacks && i % 100 == 0) {
        frames = writer.encoder().add_frame({.caller = frames / 2, .return_address = 0x400000 + i});
      }
      if (has_stacks && i % 40'000 == 0) {
        CodeMapping mapping;
        mapping.range = {0x400000 + i, 0x500000 + i};
        mapping.path = "/opt/app";
        writer.encoder().add_mapping(mapping);
      }
      if (i % 1'000 == 0) writer.add_time(i * 100);
      if (i % 50'000 == 10) {
        ProcessSample sample;
        sample.time_ns = i * 100;
        sample.resident_bytes = 1 << 20;
        writer.add_sample(sample);
      }
      if (i % 30'000 == 20) writer.add_mark("at-" + std::to_string(i), i * 100);
      if (i == 100 || i == 200) {
        writer.add_steering({.op = SteeringOp::kMallopt, .first = -1, .second = int64_t(i)});
      }
      if (i == 300) writer.add_steering({.op = SteeringOp::kMallopt, .first = -3, .second = 9});
      if (i == 400) writer.add_steering({.op = SteeringOp::kMallocTrim, .first = 9});
      writer.append(event, event.address == 0 ? 0 : frames);
      if (i % kPerChunk == 0) writer.flush();
    }
  }
  Contents read(const std::string& name) const {
    return tests::read_contents(dir_.file(name), [] { return size_t{4096}; });
  }
  TapeReader open(const std::string& name) const {
    auto reader = TapeReader::open(dir_.file(name));
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  uint64_t size(const std::string& name) const {
    return std::filesystem::file_size(dir_.file(name));
  }

  tests::TempDir dir_;
};

std::vector<LiveBlock> live_after(const Contents& whole, uint64_t calls) {
  LiveBlocks live;
  for (uint64_t i = 0; i < calls; ++i) {
    live.add(whole.events[i], whole.stacks.empty() ? 0 : whole.stacks[i], i + 1);
  }
  return live.list();
}

// What came after `dropped` calls, numbered as where `blocks` calls stand for these.
template <typename Item>
std::vector<Item> rest_of(std::vector<Item> items, uint64_t dropped, uint64_t blocks) {
  std::erase_if(items, [&](const Item& item) { return item.event <= dropped; });
  for (Item& item : items) item.event = item.event - dropped + blocks;
  return items;
}

template <typename Item>
std::vector<Item> behind(std::vector<Item> items, uint64_t blocks) {
  std::erase_if(items, [&](const Item& item) { return item.event <= blocks; });
  return items;
}

void expect_end_of(const Contents& whole, const Contents& end, uint64_t dropped, uint64_t blocks) {
  const auto live = live_after(whole, dropped);
  ASSERT_EQ(blocks, live.size());
  ASSERT_EQ(end.events.size(), blocks + whole.events.size() - dropped);
  for (uint64_t i = 0; i < blocks; ++i) {
    ASSERT_EQ(end.events[i], live[i].birth) << i;
    ASSERT_EQ(end.stacks[i], live[i].stack) << i;
  }
  const auto first = static_cast<ptrdiff_t>(blocks);
  const auto first_of_whole = static_cast<ptrdiff_t>(dropped);
  EXPECT_TRUE(std::equal(end.events.begin() + first, end.events.end(),
                         whole.events.begin() + first_of_whole));
  EXPECT_TRUE(std::equal(end.stacks.begin() + first, end.stacks.end(),
                         whole.stacks.begin() + first_of_whole));
  EXPECT_EQ(behind(end.times, blocks), rest_of(whole.times, dropped, blocks));
  EXPECT_EQ(behind(end.samples, blocks), rest_of(whole.samples, dropped, blocks));
  EXPECT_EQ(behind(end.marks, blocks), rest_of(whole.marks, dropped, blocks));
  EXPECT_EQ(end.frames, whole.frames);
  EXPECT_EQ(end.mappings, whole.mappings);
}

TEST_F(TapeWindowTest, HasTheLastCallsAndTheBlocksFromBefore) {
  for (const StackMode stacks : {StackMode::kNone, StackMode::kUnwindTables}) {
    const auto whole = create("whole.tape", stacks);
    append(*whole, stacks);
    ASSERT_TRUE(whole->finish({}).ok());
    const auto last = create("last.tape", stacks);
    last->keep_last({.bytes = kBytes});
    append(*last, stacks);
    const auto summary = last->finish({});
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    const TapeReader tape = open("last.tape");
    EXPECT_GT(tape.dropped_calls(), kEvents / 4);
    EXPECT_LT(tape.dropped_calls(), kEvents - kPerChunk);
    EXPECT_LE(size("last.tape"), kBytes + (4 << 10)) << "with its header and summary";
    EXPECT_GT(size("last.tape"), kBytes / 2);
    EXPECT_EQ(summary->events, tape.events());
    EXPECT_EQ(summary->allocations + summary->frees + summary->reallocations, tape.events());
    expect_end_of(read("whole.tape"), read("last.tape"), tape.dropped_calls(),
                  tape.inherited_blocks());
  }
}

// The settings that last are those given last; what malloc was told to do once is over.
TEST_F(TapeWindowTest, BeginsWithTheSettingsAndTheEndsOfThreads) {
  const auto last = create("last.tape");
  last->keep_last({.bytes = kBytes});
  append(*last, StackMode::kUnwindTables);
  ASSERT_TRUE(last->finish({}).ok());
  const TapeReader tape = open("last.tape");
  const Contents end = read("last.tape");
  const std::vector<SteeringCall> settings = {
      {.op = SteeringOp::kMallopt, .first = -1, .second = 200},
      {.op = SteeringOp::kMallopt, .first = -3, .second = 9}};
  EXPECT_EQ(end.steering, settings);
  const std::vector<ThreadEnd> ends = {{tape.inherited_blocks(), kThreads - 1}};
  EXPECT_EQ(end.ends, ends);
  ASSERT_FALSE(end.times.empty());
  EXPECT_EQ(end.times[0].event, 0u);
  EXPECT_EQ(end.times[0].time_ns, (tape.dropped_calls() - 2) / 1'000 * 100'000);
}

TEST_F(TapeWindowTest, IsAWholeTapeIfNothingWasDropped) {
  const auto whole = create("whole.tape");
  append(*whole, StackMode::kUnwindTables);
  ASSERT_TRUE(whole->finish({}).ok());
  const auto last = create("last.tape");
  last->keep_last({.bytes = 64 << 20});
  append(*last, StackMode::kUnwindTables);
  ASSERT_TRUE(last->finish({}).ok());
  EXPECT_EQ(tests::read_bytes(dir_.file("last.tape")), tests::read_bytes(dir_.file("whole.tape")));
}

// The same bytes as with the frames in memory.
TEST_F(TapeWindowTest, MayBeOnDisk) {
  const auto in_memory = create("memory.tape");
  in_memory->keep_last({.bytes = kBytes});
  const auto on_disk = create("disk.tape");
  const std::shared_ptr<WindowFile> file = *WindowFile::create(dir_.file("disk.tape"));
  on_disk->keep_last({.bytes = kBytes}, file);
  append(*in_memory, StackMode::kUnwindTables);
  append(*on_disk, StackMode::kUnwindTables);
  EXPECT_GT(file->bytes(), kBytes / 4);
  EXPECT_LE(file->bytes(), kBytes);
  ASSERT_TRUE(on_disk->write_copy(dir_.file("copy.tape"), {}).ok());
  ASSERT_TRUE(in_memory->finish({}).ok());
  ASSERT_TRUE(on_disk->finish({}).ok());
  EXPECT_GT(open("disk.tape").dropped_calls(), 0u);
  const auto expected = tests::read_bytes(dir_.file("memory.tape"));
  EXPECT_EQ(tests::read_bytes(dir_.file("disk.tape")), expected);
  EXPECT_EQ(tests::read_bytes(dir_.file("copy.tape")), expected);
  EXPECT_EQ(file->bytes(), 0u) << "room for the other tapes";
}

// As the tapes of several processes do.
TEST_F(TapeWindowTest, MayShareAFileWithOthers) {
  const std::shared_ptr<WindowFile> file = *WindowFile::create(dir_.file("0.tape"));
  std::vector<std::unique_ptr<TapeWriter>> writers;
  for (const char* const name : {"0.tape", "1.tape", "2.tape"}) {
    writers.push_back(create(name));
    writers.back()->keep_last({.bytes = kBytes}, file);
  }
  for (const auto& writer : writers) append(*writer, StackMode::kUnwindTables);
  EXPECT_GT(file->bytes(), kBytes);
  EXPECT_LE(file->bytes(), 3 * kBytes);
  for (const auto& writer : writers) ASSERT_TRUE(writer->finish({}).ok());
  EXPECT_EQ(file->bytes(), 0u);
  EXPECT_EQ(tests::read_bytes(dir_.file("1.tape")), tests::read_bytes(dir_.file("0.tape")));
  EXPECT_EQ(tests::read_bytes(dir_.file("2.tape")), tests::read_bytes(dir_.file("0.tape")));
}

TEST_F(TapeWindowTest, MayBeEmpty) {
  const auto last = create("last.tape");
  last->keep_last({.bytes = kBytes});
  ASSERT_TRUE(last->write_copy(dir_.file("copy.tape"), {}).ok());
  ASSERT_TRUE(last->finish({}).ok());
  EXPECT_EQ(open("copy.tape").events(), 0u);
  EXPECT_EQ(open("last.tape").events(), 0u);
}

// Each copy is the tape as it would be if it ended there, and the rest goes on.
TEST_F(TapeWindowTest, IsCopiedMeanwhile) {
  const auto last = create("last.tape");
  last->keep_last({.bytes = kBytes});
  append(*last, StackMode::kUnwindTables, kEvents / 2);
  const auto summary = last->write_copy(dir_.file("copy.tape"), {});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  const auto whole = create("whole.tape");
  append(*whole, StackMode::kUnwindTables, kEvents / 2);
  ASSERT_TRUE(whole->finish({}).ok());
  const TapeReader copy = open("copy.tape");
  EXPECT_GT(copy.dropped_calls(), 0u);
  EXPECT_EQ(summary->events, copy.events());
  expect_end_of(read("whole.tape"), read("copy.tape"), copy.dropped_calls(),
                copy.inherited_blocks());
  ASSERT_TRUE(last->finish({}).ok());
  EXPECT_EQ(tests::read_bytes(dir_.file("last.tape")), tests::read_bytes(dir_.file("copy.tape")));
}

TEST_F(TapeWindowTest, CanBeReadFromEachCallOn) {
  const auto last = create("last.tape");
  last->keep_last({.bytes = kBytes});
  append(*last, StackMode::kUnwindTables);
  ASSERT_TRUE(last->finish({}).ok());
  TapeReader tape = open("last.tape");
  const auto all = tests::read_events(tape);
  const uint64_t blocks = tape.inherited_blocks();
  for (const uint64_t from : {uint64_t{0}, uint64_t{1}, blocks - 1, blocks, blocks + 1,
                              blocks + kPerChunk, tape.events() - 1, tape.events()}) {
    ASSERT_TRUE(tape.seek(from).ok());
    EventBatch batch;
    ASSERT_TRUE(tape.read(batch, 10).ok());
    if (from == tape.events()) {
      EXPECT_TRUE(batch.events.empty());
      continue;
    }
    EXPECT_EQ(batch.first_event, from);
    ASSERT_FALSE(batch.events.empty());
    EXPECT_EQ(batch.events[0], all[from]);
  }
  ASSERT_TRUE(tape.seek(UINT64_MAX).ok());
  EventBatch batch;
  ASSERT_TRUE(tape.read(batch, 10).ok());
  EXPECT_TRUE(batch.events.empty());
}

// Each chunk is older than the time that is kept as soon as the next one comes.
TEST_F(TapeWindowTest, DropsWhatIsTooOld) {
  const auto last = create("last.tape");
  last->keep_last({.time_ns = 0});
  append(*last, StackMode::kUnwindTables);
  ASSERT_TRUE(last->finish({}).ok());
  const TapeReader tape = open("last.tape");
  EXPECT_LE(tape.events() - tape.inherited_blocks(), kPerChunk);
  EXPECT_GE(tape.dropped_calls(), kEvents - kPerChunk);
}

// Each chunk that goes leaves more blocks than it had bytes.
TEST_F(TapeWindowTest, KeepsCallsOfAHeapThatGrows) {
  const auto last = create("last.tape", StackMode::kNone);
  last->keep_last({.bytes = kBytes});
  tests::Random random(9);
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    last->append(tests::malloc_event(16 + random.below(1'000), 0x10000 + i * 1'024));
    if (i % 20'000 == 0) last->flush();
  }
  ASSERT_TRUE(last->finish({}).ok());
  const TapeReader tape = open("last.tape");
  EXPECT_EQ(tape.events(), 1'000'000u);
  EXPECT_GT(tape.dropped_calls(), 0u);
  EXPECT_GT(tape.events() - tape.inherited_blocks(), 30'000u);
}

// They would be more and more in a service with a thread for each request.
TEST_F(TapeWindowTest, ForgetsThreadsWithoutBlocks) {
  const auto last = create("last.tape", StackMode::kNone);
  last->keep_last({.time_ns = 0});
  for (uint32_t thread = 0; thread < 5'000; ++thread) {
    const uint64_t address = 0x10000 + thread * 64;
    last->append(tests::malloc_event(48, address, thread));
    last->add_steering({.thread = thread, .op = SteeringOp::kEnableThreadCache, .first = 1});
    if (thread % 1'000 != 7) last->append(tests::free_event(address, thread));
    if (thread != 4'007) last->add_end(thread);
    if (thread % 100 == 99) last->flush();
  }
  last->append(tests::malloc_event(48, 0x900000, 0));
  ASSERT_TRUE(last->finish({}).ok());
  const Contents end = read("last.tape");
  EXPECT_EQ(end.ends.size(), 4u) << "of the five that left a block, one goes on";
  EXPECT_LT(end.steering.size(), 2'500u);
}

// The share of a tape changes while others come and go.
TEST_F(TapeWindowTest, MayGetSmaller) {
  FrameCompressor compressor;
  TapeOutput output(dir_.file("last.tape"), header(StackMode::kNone));
  output.keep_last({.bytes = 1 << 20});
  EventEncoder encoder;
  tests::Random random(3);
  for (const Event& event : tests::plausible_events(random, 50'000)) {
    encoder.append(event);
    if (encoder.count() == 2'000) output.write(encoder.take(), compressor);
  }
  const uint64_t before = output.bytes();
  output.set_window_bytes(before / 2);
  EXPECT_LE(output.bytes(), before / 2);
  EXPECT_GT(output.bytes(), before / 4);
  output.set_window_bytes(0);
  EXPECT_TRUE(output.status().ok());
  ASSERT_TRUE(output.finish({}, {}, compressor).ok());
  EXPECT_GT(open("last.tape").events(), 0u) << "the last chunk stays";
}

// A fork that lies in the part that was dropped is not known, and one behind it is.
TEST_F(TapeWindowTest, LeavesChildrenTheirHeap) {
  const auto last = create("last.tape", StackMode::kNone);
  last->keep_last({.bytes = kBytes});
  append(*last, StackMode::kNone);
  ASSERT_TRUE(last->finish({}).ok());
  const uint64_t dropped = open("last.tape").dropped_calls();
  const uint64_t start = tests::sample_header().start_unix_ns;
  const auto write_child = [&](uint64_t calls) {
    const auto child = create("child.tape", StackMode::kNone);
    child->add_inheritance({.tape = "last.tape", .start_unix_ns = start, .events = calls});
    child->append(tests::malloc_event(16, 0x7fff00000000));
    ASSERT_TRUE(child->finish({}).ok());
  };
  const auto whole = create("whole.tape", StackMode::kNone);
  append(*whole, StackMode::kNone);
  ASSERT_TRUE(whole->finish({}).ok());
  const Contents all = read("whole.tape");
  for (const uint64_t calls : {dropped, dropped + 5'000, uint64_t{kEvents}}) {
    write_child(calls);
    const TapeReader child = open("child.tape");
    EXPECT_EQ(child.inherited_problem(), "");
    EXPECT_EQ(child.joined_blocks(), live_after(all, calls).size());
  }
  write_child(dropped - 1);
  EXPECT_NE(open("child.tape").inherited_problem().find("has its last calls only"),
            std::string::npos);
}

// A copy of a child's goes with the copy of its parent's of that number.
TEST_F(TapeWindowTest, LeavesCopiesTheirHeap) {
  const auto last = create("last.tape", StackMode::kNone);
  append(*last, StackMode::kNone, 1'000);
  const uint64_t start = tests::sample_header().start_unix_ns;
  const Inheritance fork{.tape = "last.tape", .start_unix_ns = start, .events = 1'001};
  const auto parents_copy = create("last.flush-2.tape", StackMode::kNone);
  append(*parents_copy, StackMode::kNone, 1'000);
  ASSERT_TRUE(parents_copy->finish({}).ok());
  for (const char* const name : {"child.flush-2.tape", "child.flush-3.tape"}) {
    const auto child = create(name, StackMode::kNone);
    child->add_inheritance(fork);
    ASSERT_TRUE(child->finish({}).ok());
  }
  EXPECT_EQ(open("child.flush-2.tape").inherited_problem(), "");
  EXPECT_GT(open("child.flush-2.tape").joined_blocks(), 0u);
  EXPECT_NE(open("child.flush-3.tape").inherited_problem(), "");
  // A copy from before the fork does not hide the whole tape.
  const auto early_copy = create("last.flush-3.tape", StackMode::kNone);
  append(*early_copy, StackMode::kNone, 10);
  ASSERT_TRUE(early_copy->finish({}).ok());
  EXPECT_NE(open("child.flush-3.tape").inherited_problem(), "");
  ASSERT_TRUE(last->finish({}).ok());
  EXPECT_EQ(open("child.flush-3.tape").inherited_problem(), "");
}

// A forked process of whose own calls some were dropped.
TEST_F(TapeWindowTest, SaysThatWhatItInheritedIsNotKnown) {
  const auto last = create("last.tape");
  last->keep_last({.bytes = kBytes});
  last->add_inheritance({.tape = "parent.tape", .start_unix_ns = 1, .events = 5});
  append(*last, StackMode::kUnwindTables);
  ASSERT_TRUE(last->finish({}).ok());
  const TapeReader tape = open("last.tape");
  EXPECT_GT(tape.dropped_calls(), 0u);
  EXPECT_EQ(tape.joined_blocks(), 0u);
  EXPECT_EQ(tape.inherited_problem(),
            "the heap that it inherited is not known: its first calls were dropped");
}

}  // namespace
}  // namespace heaptape::schema
