// A tape that nothing happened to: what goes in comes out.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "schema/tape/allocator_settings.h"
#include "schema/tape/event_columns.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

using tests::free_event;
using tests::malloc_event;
using tests::Random;
using tests::read_events;
using tests::realloc_event;
using tests::sample_header;
using tests::write_tape;

class Tape : public testing::Test {
 protected:
  TapeReader open() {
    auto reader = TapeReader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("run.tape");
};

TEST_F(Tape, ReturnsItsHeader) {
  write_tape(path_, {});
  EXPECT_EQ(open().header(), sample_header());
}

TEST_F(Tape, SaysHowItsStacksWereRecorded) {
  schema::TapeHeader header = sample_header();
  header.stacks = {StackMode::kUnwindTables, 64, 524'288, {{48, 48}, {1024, 4096}}};
  write_tape(path_, {}, {}, header);
  EXPECT_EQ(open().header(), header);
}

TEST_F(Tape, SaysWhichAllocatorServedTheCalls) {
  schema::TapeHeader header = sample_header();
  header.recorded_allocator = {"jemalloc", "5.3.0", "glibc 2.36"};
  header.settings = {"MALLOC_CONF=narenas:1"};
  write_tape(path_, {}, {}, header);
  EXPECT_EQ(open().header(), header);
}

// One that is not ours can hold more than a recorder writes.
TEST_F(Tape, KeepsSoManySettingsAndNoMore) {
  schema::TapeHeader header = sample_header();
  header.settings.assign(2 * schema::kMostSettings, "MALLOC_ARENA_MAX=1");
  write_tape(path_, {}, {}, header);
  EXPECT_EQ(open().header().settings.size(), schema::kMostSettings);
}

TEST_F(Tape, WithoutEventsReadsAsEmpty) {
  write_tape(path_, {});
  TapeReader reader = open();
  EXPECT_EQ(reader.events(), 0u);
  EXPECT_TRUE(read_events(reader).empty());
}

TEST_F(Tape, ReturnsItsEventsInOrder) {
  const std::vector<Event> events = {malloc_event(10, 0x5000), malloc_event(20, 0x5020, 3),
                                     realloc_event(0x5000, 100, 0x5040), free_event(0x5020, 3),
                                     free_event(0)};
  write_tape(path_, events);
  TapeReader reader = open();
  EXPECT_EQ(read_events(reader), events);
}

TEST_F(Tape, KeepsEventsApartThatShareAChunkBoundary) {
  Random random(1);
  const auto events = tests::plausible_events(random, kEventsPerChunk + 1);
  write_tape(path_, events);
  TapeReader reader = open();
  EXPECT_EQ(read_events(reader), events);
}

TEST_F(Tape, TakesAddressesOfAnyAlignment) {
  std::vector<Event> events = {malloc_event(8, 0x5010), malloc_event(8, 0x5018)};
  events.push_back(malloc_event(1, 0x5021));
  events.push_back(malloc_event(8, 0x5030));
  write_tape(path_, events);
  TapeReader reader = open();
  EXPECT_EQ(read_events(reader), events);
}

// The unit falls once; later chunks have it from their beginning.
TEST_F(Tape, KeepsItsUnitFromChunkToChunk) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  for (uint64_t chunk = 0; chunk < 4; ++chunk) {
    (*writer)->append(malloc_event(8, 0x5010));
    (*writer)->append(malloc_event(8, 0x5018));
    (*writer)->flush();
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  const TapeReader reader = open();
  EXPECT_EQ(std::ranges::count(reader.chunks(), ChunkKind::kEvents, &ChunkRef::kind), 5);
}

TEST_F(Tape, CountsWhatItHolds) {
  Event failed = malloc_event(1, 0);
  write_tape(path_, {malloc_event(10, 0x5000), malloc_event(10, 0x5020, 1), failed,
                     realloc_event(0x5000, 0, 0), free_event(0x5020)});
  const TapeSummary summary = *open().summary();
  EXPECT_EQ(summary.events, 5u);
  EXPECT_EQ(summary.allocations, 3u);
  EXPECT_EQ(summary.reallocations, 1u);
  EXPECT_EQ(summary.frees, 1u);
  EXPECT_EQ(summary.failed, 1u);  // realloc(p, 0) is a free, not a failure
  EXPECT_EQ(summary.threads, 2u);
}

TEST_F(Tape, KeepsWhatTheRecorderSaysOfTheRun) {
  TapeSummary summary;
  summary.losses.lost_events = 7;
  summary.repaired_inversions = 3;
  summary.stall_ns = 12345;
  summary.end_reason = EndReason::kSignalled;
  summary.end_status = 9;
  write_tape(path_, {}, summary);
  EXPECT_EQ(*open().summary(), summary);
}

TEST_F(Tape, KeepsTheNamesOfItsThreads) {
  TapeSummary summary;
  summary.thread_list = {{42, "main"}, {43, "w\xffrker"}, {0, ""}};
  tests::write_tape(path_, {malloc_event(1, 0x5000)}, summary);
  EXPECT_EQ(open().summary()->thread_list, summary.thread_list);
}

TEST_F(Tape, HasNoChunkForNamesItDoesNotHave) {
  tests::write_tape(path_, {malloc_event(1, 0x5000)});
  const TapeReader reader = open();
  EXPECT_EQ(std::ranges::count(reader.chunks(), ChunkKind::kThreads, &ChunkRef::kind), 0);
}

TEST_F(Tape, StandsUnderItsNameOnlyWhenFinished) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->append(malloc_event(1, 0x5000));
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(std::filesystem::exists(path_ + ".partial"));
  ASSERT_TRUE((*writer)->finish({}).ok());
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
}

TEST_F(Tape, IsReadableByItsOwnerOnly) {
  write_tape(path_, {});
  struct stat info{};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(Tape, CanBeReadFromAnyEvent) {
  Random random(2);
  const auto events = tests::plausible_events(random, kEventsPerChunk * 2 + 500);
  write_tape(path_, events);
  TapeReader reader = open();
  for (const uint64_t from : {uint64_t{0}, uint64_t{77}, uint64_t{kEventsPerChunk},
                              uint64_t{kEventsPerChunk * 2 + 499}, uint64_t{events.size()}}) {
    ASSERT_TRUE(reader.seek(from).ok());
    const std::vector<Event> rest(events.begin() + static_cast<ptrdiff_t>(from), events.end());
    EXPECT_EQ(read_events(reader), rest) << "from " << from;
  }
}

TEST_F(Tape, GivesTimesWithTheEventsTheyFollow) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->append(malloc_event(1, 0x5000));
  (*writer)->add_time(1000);
  (*writer)->append(malloc_event(1, 0x5020));
  (*writer)->append(malloc_event(1, 0x5040));
  (*writer)->add_time(5000);
  ASSERT_TRUE((*writer)->finish({}).ok());
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 2).ok());
  EXPECT_EQ(batch.times, (std::vector<TimeSample>{{1, 1000}}));
  ASSERT_TRUE(reader.read(batch, 2).ok());
  EXPECT_EQ(batch.times, (std::vector<TimeSample>{{3, 5000}}));
}

TEST_F(Tape, TimesGoOnFromChunkToChunk) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->append(malloc_event(1, 0x5000));
  (*writer)->add_time(1000);
  (*writer)->flush();
  (*writer)->append(malloc_event(1, 0x5020));
  (*writer)->add_time(3000);
  ASSERT_TRUE((*writer)->finish({}).ok());
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 10).ok());
  ASSERT_TRUE(reader.read(batch, 10).ok());
  EXPECT_EQ(batch.times, (std::vector<TimeSample>{{2, 3000}}));
}

TEST_F(Tape, TwoTimesAtOneEventAreAPause) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->append(malloc_event(1, 0x5000));
  for (const uint64_t time_ns : {1000, 9000, 9000}) (*writer)->add_time(time_ns);
  ASSERT_TRUE((*writer)->finish({}).ok());
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 2).ok());
  EXPECT_EQ(batch.times, (std::vector<TimeSample>{{1, 1000}, {1, 9000}}));
}

TEST_F(Tape, GivesThreadEndsWithTheEventsTheyFollow) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  for (const uint32_t thread : {1, 2, 3}) {
    (*writer)->append(malloc_event(1, 0x5000 * thread, thread));
    if (thread != 2) (*writer)->add_end(thread);
  }
  (*writer)->add_end(2);
  ASSERT_TRUE((*writer)->finish({}).ok());
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 2).ok());
  EXPECT_EQ(batch.thread_ends, (std::vector<ThreadEnd>{{1, 1}}));
  ASSERT_TRUE(reader.read(batch, 2).ok());
  EXPECT_EQ(batch.thread_ends, (std::vector<ThreadEnd>{{3, 3}, {3, 2}}));
}

TEST_F(Tape, KeepsAThreadEndBehindItsLastChunk) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->append(malloc_event(1, 0x5000, 7));
  (*writer)->flush();
  (*writer)->add_end(7);
  ASSERT_TRUE((*writer)->finish({}).ok());
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 10).ok());
  EXPECT_EQ(batch.thread_ends, std::vector<ThreadEnd>{});
  ASSERT_TRUE(reader.read(batch, 10).ok());
  EXPECT_EQ(batch.thread_ends, (std::vector<ThreadEnd>{{1, 7}}));
}

TEST_F(Tape, CountsThreadEndsAfreshInEachChunk) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->append(malloc_event(1, 0x5000, 1));
  (*writer)->add_end(1);
  (*writer)->flush();
  (*writer)->append(malloc_event(1, 0x6000, 2));
  (*writer)->add_end(2);
  ASSERT_TRUE((*writer)->finish({}).ok());
  TapeReader reader = open();
  ASSERT_TRUE(reader.seek(1).ok());
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 10).ok());
  EXPECT_EQ(batch.thread_ends, (std::vector<ThreadEnd>{{2, 2}}));
}

TEST_F(Tape, KeepsProcessSamples) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->append(malloc_event(1, 0x5000));
  ProcessSample sample{
      0, 99, 4096, {{0x5000, 0x6000}, {0x7000, 0x9000}}, {4000, 70'000, 8192, 90'000}};
  (*writer)->add_sample(sample);
  ASSERT_TRUE((*writer)->finish({}).ok());
  sample.event = 1;
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 10).ok());
  EXPECT_EQ(batch.samples, std::vector<ProcessSample>{sample});
}

TEST_F(Tape, NamesFilesWithAllocatorsInside) {
  TapeSummary summary;
  summary.inner_allocators = {{"/opt/\xff.so", {"jemalloc", "mimalloc"}}, {"/bin/x", {"tcmalloc"}}};
  const auto files = summary.inner_allocators;
  summary.inner_allocators.push_back({"/bin/without", {}});
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->finish(summary).ok());
  EXPECT_EQ(open().summary()->inner_allocators, files);
}

// And the greatest peak of any.
TEST_F(Tape, SaysInItsSummaryWhichSampleHadMost) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->add_sample({0, 10, 4096, {{0x5000, 0x6000}}, {0, 1, 2, 20'000}});
  for (uint64_t i = 0; i < kEventsPerChunk; ++i) (*writer)->append(malloc_event(1, 0x5000));
  (*writer)->add_sample({0, 20, 8192, {{0x5000, 0x6000}}, {4096, 3, 4, 30'000, 2048, 7}});
  (*writer)->append(malloc_event(1, 0x5020));
  (*writer)->add_sample({0, 30, 8192, {}, {{}, 5, 6, 40'000}});
  TapeSummary stale;
  stale.largest_sample = ProcessSample{};
  ASSERT_TRUE((*writer)->finish(stale).ok());
  EXPECT_EQ(open().summary()->largest_sample,
            (ProcessSample{kEventsPerChunk, 20, 8192, {}, {4096, 3, 4, 40'000, 2048, 7}}));
}

// A damaged tape, say.
TEST_F(Tape, NeverHasMoreOfMallocThanOfTheProcess) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->add_sample({0, 10, 4096, {}, {8192, 0, 0, 0, 8192}});
  ASSERT_TRUE((*writer)->finish({}).ok());
  EXPECT_EQ(open().summary()->largest_sample->parts.malloc_bytes, 4096u);
  EXPECT_EQ(open().summary()->largest_sample->parts.stack_bytes, 0u);
}

TEST_F(Tape, SaysWhoHasTheMemoryBesideMalloc) {
  schema::ProcessSample sample{0, 10, 8192, {}, {4096, 0, 0, 0, 1024}};
  sample.parts.owners = {{"libarrow", 2000}, {"python3.11", 500}};
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->add_sample(sample);
  ASSERT_TRUE((*writer)->finish({}).ok());
  EXPECT_EQ(open().summary()->largest_sample, sample);
}

TEST_F(Tape, NeverHasMoreOfOwnersThanThereIs) {
  schema::ProcessSample sample{0, 10, 8192, {}, {4096, 0, 0, 0, 1024}};
  sample.parts.owners = {{"a b", 1},    {std::string(65, 'a'), 1},
                         {"", 1},       {"empty", 0},
                         {"one", 2000}, {"one", 1},
                         {"two", 4000}, {"three", 1}};
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->add_sample(sample);
  sample.parts.malloc_bytes = {};
  sample.resident_bytes = 16384;
  (*writer)->add_sample(sample);
  sample.parts.malloc_bytes = 0;
  sample.parts.owners.clear();
  for (int i = 0; i < 100; ++i) sample.parts.owners.push_back({"lib" + std::to_string(i), 1});
  (*writer)->add_sample(sample);
  ASSERT_TRUE((*writer)->finish({}).ok());
  schema::TapeReader reader = open();
  schema::EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 10).ok());
  ASSERT_EQ(batch.samples.size(), 3u);
  using Owners = std::vector<schema::OwnedMemory>;
  EXPECT_EQ(batch.samples[0].parts.owners, (Owners{{"one", 2000}, {"two", 1072}}));
  EXPECT_EQ(batch.samples[1].parts.owners, Owners());
  EXPECT_EQ(batch.samples[2].parts.owners.size(), schema::kMostOwners);
}

TEST_F(Tape, OmitsMappingCallsThatNoProcessCanMake) {
  using schema::MappingOp;
  constexpr uint64_t kLimit = base::kAddressLimit;
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->add_mapping_call({.range = {kLimit, kLimit}});
  (*writer)->add_mapping_call({.range = {kLimit - 1, kLimit + 1}});
  (*writer)->add_mapping_call({.op = static_cast<MappingOp>(99), .range = {1, 2}});
  const schema::MappingCall possible{.op = MappingOp::kUnmap, .range = {kLimit - 1, kLimit}};
  (*writer)->add_mapping_call(possible);
  ASSERT_TRUE((*writer)->finish({}).ok());
  schema::TapeReader reader = open();
  schema::EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 10).ok());
  EXPECT_EQ(batch.mapped, (std::vector<schema::MappingCall>{possible}));
}

// A chunk has so many, and no more.
TEST_F(Tape, KeepsAMillionMappingCalls) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  constexpr uint64_t kCalls = 1'000'000;
  for (uint64_t i = 0; i < kCalls; ++i) (*writer)->add_mapping_call({.range = {0, i % 128}});
  ASSERT_TRUE((*writer)->finish({}).ok());
  schema::TapeReader reader = open();
  uint64_t calls = 0;
  schema::EventBatch batch;
  do {
    ASSERT_TRUE(reader.read(batch, 10).ok());
    calls += batch.mapped.size();
  } while (!batch.mapped.empty());
  EXPECT_EQ(calls, kCalls);
}

TEST_F(Tape, GivesSamplesWithTheEventsTheyFollow) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->append(malloc_event(1, 0x5000));
  (*writer)->add_sample({0, 10, 4096, {}});
  (*writer)->append(malloc_event(1, 0x5020));
  (*writer)->append(malloc_event(1, 0x5040));
  (*writer)->add_sample({0, 20, 8192, {}});
  ASSERT_TRUE((*writer)->finish({}).ok());
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 1).ok());
  EXPECT_EQ(batch.samples, (std::vector<ProcessSample>{{1, 10, 4096, {}}}));
  ASSERT_TRUE(reader.read(batch, 2).ok());
  EXPECT_EQ(batch.samples, (std::vector<ProcessSample>{{3, 20, 8192, {}}}));
}

TEST_F(Tape, HasTheSameBytesHoweverOftenItIsSaved) {
  Random random(3);
  const auto events = tests::plausible_events(random, kEventsPerChunk * 2 + 100, 16, 3);
  write_tape(path_, events);
  const std::string saved = dir_.file("saved.tape");
  auto writer = TapeWriter::create(saved, sample_header());
  ASSERT_TRUE(writer.ok());
  for (const Event& event : events) {
    (*writer)->append(event);
    if ((*writer)->events() % 10'000 == 0) (*writer)->save();
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  EXPECT_TRUE(tests::read_bytes(saved) == tests::read_bytes(path_));
}

TEST(SizeClassChoice, IsToEncodeByAllUntilTheTrialIsDecided) {
  SizeClassChoice choice(SizeClasses::kQuarters);
  EXPECT_EQ(choice.of(0), SizeClasses::kQuarters);
  EXPECT_EQ(choice.of(1), std::nullopt);
  EXPECT_EQ(choice.of(2), std::nullopt);
  choice.decide(1, SizeClasses::kChunks);
  EXPECT_EQ(choice.of(1), std::nullopt);
  EXPECT_EQ(choice.of(2), SizeClasses::kChunks);
  EXPECT_EQ(choice.of(8), SizeClasses::kChunks);
  EXPECT_EQ(choice.of(9), std::nullopt);
  EXPECT_EQ(choice.of(10), std::nullopt);
  choice.decide(9, SizeClasses::kEighths);
  EXPECT_EQ(choice.of(10), SizeClasses::kEighths);
}

// A trial that was encoded with one kind only chooses nothing.
TEST_F(Tape, OfLowEffortReadsLikeAnyOther) {
  Random random(5);
  const auto events = tests::plausible_events(random, 300'000);
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->encoder().set_effort(Effort::kLow);
  for (size_t i = 0; i < events.size(); ++i) {
    if (i == 2 * kEventsPerChunk) (*writer)->encoder().set_effort(Effort::kFull);
    (*writer)->append(events[i]);
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  TapeReader reader = open();
  EXPECT_TRUE(tests::read_events(reader) == events);
}

// The encoder may be far ahead of the writer that chooses.
TEST_F(Tape, HasTheSameBytesHoweverLateSizeClassesAreChosen) {
  constexpr uint64_t kChunks = 20;
  const auto write = [&](bool is_late) {
    TapeOutput output(path_, sample_header());
    FrameCompressor compressor;
    EventEncoder encoder;
    encoder.set_size_classes(output.size_classes(0));
    for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
      // Blocks of 129 to 160 bytes share a list, as in jemalloc: not what the first chunk has.
      for (uint64_t call = 0; call < 500; ++call) {
        const uint64_t address = 0x10000 + (call / 20) * 0x100;
        encoder.append(call % 2 == 0 ? malloc_event(129 + call * 7 % 32, address)
                                     : free_event(address));
      }
      output.write(encoder.take(), compressor);
      encoder.set_size_classes(is_late ? std::nullopt : output.size_classes(chunk + 1));
    }
    EXPECT_TRUE(output.finish(encoder.take(), {}, compressor).ok());
    return tests::read_bytes(path_);
  };
  const std::string in_time = write(false);
  EXPECT_TRUE(write(true) == in_time);
  EXPECT_EQ(open().events(), kChunks * 500);
}

// Blocks of all sizes that an allocator serves from one list, in chunks of 1,000 calls.
TEST_F(Tape, HasTheSizeClassesThatFit) {
  const auto bytes_of = [this](const std::string& family, uint64_t least, uint64_t most,
                               int chunks) {
    TapeHeader header = sample_header();
    header.recorded_allocator.family = family;
    auto writer = TapeWriter::create(path_, header);
    EXPECT_TRUE(writer.ok());
    Random random(1);
    std::vector<uint64_t> freed;
    for (uint64_t i = 0; i < 1000; ++i) freed.push_back(0x10000 + i * 0x100);
    std::vector<uint64_t> live;
    for (int i = 0; i < chunks; ++i) {
      for (int call = 0; call < 1000; ++call) {
        if (live.empty() || (!freed.empty() && random.chance(2))) {
          live.push_back(freed.back());
          freed.pop_back();
          (*writer)->append(malloc_event(least + random.below(most - least + 1), live.back()));
        } else {
          std::swap(live[random.below(live.size())], live.back());
          freed.push_back(live.back());
          live.pop_back();
          (*writer)->append(free_event(freed.back()));
        }
      }
      (*writer)->flush();
    }
    EXPECT_TRUE((*writer)->finish({}).ok());
    return open().file_bytes();
  };
  EXPECT_LT(bytes_of("jemalloc", 129, 160, 1), bytes_of("", 129, 160, 1) - 150);
  EXPECT_LT(bytes_of("tcmalloc", 129, 144, 1), bytes_of("", 129, 144, 1) - 100);
  EXPECT_LT(bytes_of("glibc", 25, 40, 1), bytes_of("jemalloc", 25, 40, 1) - 100);
  // By trial, but for the first chunk.
  EXPECT_LT(bytes_of("", 129, 160, 20), bytes_of("jemalloc", 129, 160, 20) * 103 / 100);
  EXPECT_LT(bytes_of("jemalloc", 25, 40, 20), bytes_of("glibc", 25, 40, 20) * 103 / 100);
}

TEST_F(Tape, SmallRepetitiveRunsCostLittleOnDisk) {
  std::vector<Event> events;
  for (int i = 0; i < 100000; ++i) {
    events.push_back(malloc_event(64, 0x5000));
    events.push_back(free_event(0x5000));
  }
  write_tape(path_, events);
  EXPECT_LT(open().file_bytes(), events.size() / 50);
}

TEST_F(Tape, KeepsMarks) {
  auto writer = TapeWriter::create(path_, sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->add_mark("begin", 5);
  (*writer)->append(malloc_event(1, 0x5000));
  (*writer)->append(malloc_event(1, 0x6000));
  (*writer)->add_mark("two", 99);
  (*writer)->flush();
  (*writer)->add_mark("end", 100);
  ASSERT_TRUE((*writer)->finish({}).ok());
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 1).ok());
  EXPECT_EQ(batch.marks, (std::vector<Mark>{{0, 5, "begin"}}));
  ASSERT_TRUE(reader.read(batch, 10).ok());
  EXPECT_EQ(batch.marks, (std::vector<Mark>{{2, 99, "two"}}));
  ASSERT_TRUE(reader.read(batch, 10).ok());
  EXPECT_EQ(batch.marks, (std::vector<Mark>{{2, 100, "end"}}));
}

TEST_F(Tape, TakesRoomForMarksOnlyWhereThereAreSome) {
  EventColumns columns;
  columns.count = 1;
  const auto without = encode(columns);
  columns.marks.push_back({0, 0, "m"});
  const auto with = encode(columns);
  // In words: the tag of the list, and a mark with its name.
  EXPECT_EQ(with->size() - without->size(), 1u + 4u);
}

// Of a hostile writer.
TEST(EventDecoder, LeavesOutMarksOfOtherChunksAndOnesThatGoBack) {
  EventColumns columns;
  columns.first_event = 10;
  columns.marks = {{9, 0, "before"}, {10, 1, "in"}, {11, 2, "behind"}, {5, 3, "back"}};
  EventDecoder decoder;
  ASSERT_TRUE(decoder.load(*encode(columns)).ok());
  EXPECT_EQ(decoder.marks(), (std::vector<Mark>{{10, 1, "in"}}));
}

TEST(EventDecoder, LeavesOutMarksWithNamesThatNoneHas) {
  EventColumns columns;
  for (const std::string& name : {std::string(), std::string("a b"), std::string("\x1b[31m"),
                                  std::string("-a"), std::string(65, 'a'), std::string("ok-1._")}) {
    columns.marks.push_back({0, 0, name});
  }
  EventDecoder decoder;
  ASSERT_TRUE(decoder.load(*encode(columns)).ok());
  EXPECT_EQ(decoder.marks(), (std::vector<Mark>{{0, 0, "ok-1._"}}));
}

// Its memory serves another chunk, perhaps of another tape.
TEST(EventColumns, KeepNoCountsWhenTheyAreCleared) {
  EventColumns columns;
  columns.count = columns.failed = columns.thread_limit = 3;
  columns.samples.emplace_back();
  columns.marks.emplace_back();
  columns.clear();
  EXPECT_TRUE(columns.empty());
  EXPECT_EQ(columns.failed, 0u);
  EXPECT_EQ(columns.thread_limit, 0u);
}

}  // namespace
}  // namespace heaptape::schema
