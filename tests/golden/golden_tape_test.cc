// Tapes of all versions of the format, which must stay readable. The first one of the current
// version is the example that docs/tape-format.md takes apart byte by byte.
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>

#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/golden.h"
#include "tests/support/tape_contents.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

using tests::Contents;

constexpr int kCurrentVersion = kMajorVersion;
constexpr const char* kFamilies[] = {"glibc", "jemalloc", "tcmalloc"};

const std::vector<Event> kEvents = {
    {Op::kMalloc, 0, 24, 0, 0x5555557592a0, 0},
    {Op::kMalloc, 0, 24, 0, 0x5555557592c0, 0},
    {Op::kPosixMemalign, 1, 100, 64, 0x555555759300, 0},
    {Op::kRealloc, 0, 200, 0, 0x555555759370, 0x5555557592a0},
    {Op::kFree, 1, 0, 0, 0, 0x555555759300},
    {Op::kFree, 1, 0, 0, 0, 0},
};

const ProcessSample kSample{6, 2'000'000, 135'168, {{0x555555759000, 0x55555577a000}}};

TapeSummary expected_summary(int version) {
  TapeSummary summary;
  summary.events = 6;
  summary.allocations = 3;
  summary.frees = 2;
  summary.reallocations = 1;
  summary.threads = 2;
  summary.duration_ns = 2'500'000;
  if (version > 1) summary.largest_sample = kSample.without_regions();  // that of 1 was made before
  return summary;
}

// Numbers that stay the same: those of this file do not come from code that may change.
class Lehmer {
 public:
  uint32_t below(uint32_t limit) {
    state_ = state_ * 48271 % 0x7fffffff;
    return static_cast<uint32_t>(state_ % limit);
  }

 private:
  uint64_t state_ = 20'261'128;
};

constexpr int kChunks = 18;
constexpr int kEventsPerGoldenChunk = 150;

// Chunks of a program that frees its newest block or its oldest one, each for some chunks on end;
// that uses three threads, all kinds of calls, blocks that are not aligned to 16 bytes, blocks of
// other chunks, and blocks that no call handed out.
std::vector<std::vector<Event>> rich_chunks() {
  constexpr Op kAllocations[] = {Op::kMalloc, Op::kCalloc, Op::kNew, Op::kMemalign};
  constexpr Op kReleases[] = {Op::kFree, Op::kDelete, Op::kDeleteSized};
  Lehmer random;
  std::vector<std::vector<Event>> chunks(kChunks);
  std::vector<uint64_t> live;
  uint64_t top = 0x7f0000001000;
  for (int i = 0; i < kChunks; ++i) {
    for (int j = 0; j < kEventsPerGoldenChunk; ++j) {
      Event event;
      event.thread = random.below(9) == 0 ? 1 + random.below(2) * 16 : 0;
      const uint32_t kind = random.below(20);
      const auto take = [&] {
        const size_t at = i < kChunks / 2 ? live.size() - 1 : random.below(3) % live.size();
        const uint64_t address = live[at];
        live.erase(live.begin() + static_cast<ptrdiff_t>(at));
        return address;
      };
      const auto give = [&](uint64_t unit) {
        event.size = random.below(4) == 0 ? random.below(100'000) : random.below(40);
        event.address = top += (event.size + unit) / unit * unit;
        live.push_back(event.address);
      };
      if (kind == 0) {
        event.op = Op::kFree;  // of NULL
      } else if (kind == 1) {
        event = {Op::kMalloc, event.thread, uint64_t{1} << 50, 0, 0, 0};  // fails
      } else if (kind == 2) {
        event = {Op::kFree, event.thread, 0, 0, 0, 0x1000 + uint64_t{random.below(1000)} * 16};
      } else if (kind < 5 && !live.empty()) {
        event.op = Op::kRealloc;
        event.freed_address = take();
        give(16);
      } else if (kind < 12 && !live.empty()) {
        event.op = kReleases[random.below(3)];
        event.freed_address = take();
      } else {
        event.op = kAllocations[random.below(4)];
        give(i % 5 == 4 ? 8 : 16);
        if (op_info(event.op).aligned) event.alignment = 16u << random.below(3);
      }
      chunks[static_cast<size_t>(i)].push_back(event);
    }
  }
  return chunks;
}

// A chunk of calls of version 2's kind: an allocator that hands the last freed block of a class out
// first, or one of the others, up to twenty places deep; ages of more than 256 blocks, and blocks
// of one class with different sizes.
std::vector<Event> reusing_events() {
  Lehmer random;
  std::vector<Event> events;
  std::array<std::vector<uint64_t>, 4> freed;
  std::vector<std::pair<uint64_t, size_t>> live;  // block and class
  uint64_t top = 0x600000000000;
  for (int i = 0; i < 2000; ++i) {
    Event event;
    event.thread = random.below(50) == 0 ? 1 : 0;
    const bool grows = i % 800 < 420;
    if (live.empty() || random.below(10) < (grows ? 8u : 2u)) {
      const size_t size_class = random.below(4);
      event.op = Op::kMalloc;
      event.size = 129 + size_class * 32 + random.below(32);
      std::vector<uint64_t>& list = freed[size_class];
      const size_t place = random.below(3) == 0 ? random.below(20) : 0;
      if (place < list.size()) {
        const auto at = list.end() - 1 - static_cast<ptrdiff_t>(place);
        event.address = *at;
        list.erase(at);
      } else {
        event.address = top += 256;
      }
      live.emplace_back(event.address, size_class);
    } else {
      const size_t at =
          random.below(2) == 0 ? live.size() - 1 : random.below(static_cast<uint32_t>(live.size()));
      event.op = Op::kFree;
      event.freed_address = live[at].first;
      freed[live[at].second].push_back(live[at].first);
      live.erase(live.begin() + static_cast<ptrdiff_t>(at));
    }
    events.push_back(event);
  }
  return events;
}

Contents rich_contents() {
  Contents all;
  uint64_t chunk = 0;
  for (const std::vector<Event>& events : rich_chunks()) {
    ++chunk;
    all.frames.push_back({static_cast<FrameNumber>(chunk - 1), 0x400000 + chunk * 0x123});
    for (const Event& event : events) {
      const bool is_release = op_info(event.op).kind == OpKind::kRelease;
      all.events.push_back(event);
      const auto stack = static_cast<FrameNumber>(all.events.size() % (chunk + 1));
      all.stacks.push_back(is_release ? 0 : stack);
    }
    all.times.push_back({all.events.size(), chunk * 1'000'000});
    if (chunk % 7 == 0) all.ends.push_back({all.events.size(), static_cast<uint32_t>(chunk / 7)});
    if (chunk % 4 == 0) {
      all.marks.push_back({all.events.size(), chunk * 1'000'000, "m" + std::to_string(chunk)});
    }
  }
  return all;
}

// Chunk after chunk, up to `chunks`.
void append_rich_chunks(TapeWriter& writer, const Contents& all, int chunks) {
  auto time = all.times.begin();
  auto end = all.ends.begin();
  auto mark = all.marks.begin();
  writer.encoder().set_has_stacks();
  size_t at = 0;
  for (int i = 0; i < chunks; ++i) {
    writer.encoder().add_frame(all.frames[static_cast<size_t>(i)]);
    for (int j = 0; j < kEventsPerGoldenChunk; ++j, ++at) {
      writer.append(all.events[at], all.stacks[at]);
    }
    writer.add_time(time->time_ns);
    ++time;
    for (; end != all.ends.end() && end->event == at; ++end) writer.add_end(end->thread);
    for (; mark != all.marks.end() && mark->event == at; ++mark) {
      writer.add_mark(mark->name, mark->time_ns);
    }
    writer.flush();
  }
}

// Of a tape as it is when its writer is killed: a chunk, and two parts of the next one.
constexpr size_t kSavedEvents = kEventsPerGoldenChunk + 100;

void append_unfinished(TapeWriter& writer, const Contents& all) {
  append_rich_chunks(writer, all, 1);
  writer.encoder().add_frame(all.frames[1]);
  for (size_t i = kEventsPerGoldenChunk; i < kSavedEvents; ++i) {
    writer.append(all.events[i], all.stacks[i]);
    if (i == kEventsPerGoldenChunk + 60) writer.save();
  }
  writer.save();
}

// Leaves the hole out that an unfinished tape has: parts may lie anywhere behind the last chunk.
std::string without_hole(std::string file) {
  const std::string hole(4096, '\0');
  const size_t from = file.find(hole);
  size_t to = file.find_first_not_of('\0', from);
  return file.erase(from, to - from - 16);
}

// How the files were made, for the next version of the format: HEAPTAPE_UPDATE_GOLDEN=1 on a tree
// without them.
void write_small(const std::string& path) {
  auto writer = TapeWriter::create(path, tests::sample_header());
  ASSERT_TRUE(writer.ok());
  for (const Event& event : kEvents) (*writer)->append(event);
  (*writer)->add_time(1'500'000);
  (*writer)->add_sample(kSample);
  TapeSummary summary;
  summary.duration_ns = 2'500'000;
  ASSERT_TRUE((*writer)->finish(summary).ok());
}

void write_rich(const std::string& path) {
  auto writer = TapeWriter::create(path, tests::sample_header());
  ASSERT_TRUE(writer.ok());
  append_rich_chunks(**writer, rich_contents(), kChunks);
  ASSERT_TRUE((*writer)->finish({}).ok());
}

void write_unfinished(const std::string& path) {
  const tests::TempDir dir;
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  ASSERT_TRUE(writer.ok());
  append_unfinished(**writer, rich_contents());
  tests::write_bytes(path, without_hole(tests::read_bytes(dir.file("t.partial"))));
}

// Of an allocator of that family: the first chunk has its size classes.
template <int kFamily>
void write_reusing(const std::string& path) {
  TapeHeader header = tests::sample_header();
  header.recorded_allocator.family = kFamilies[kFamily];
  auto writer = TapeWriter::create(path, header);
  ASSERT_TRUE(writer.ok());
  for (const Event& event : reusing_events()) (*writer)->append(event);
  ASSERT_TRUE((*writer)->finish({}).ok());
}

class GoldenTape : public testing::TestWithParam<int> {
 protected:
  using Write = void (*)(const std::string&);

  static std::string path_of(const std::string& which, Write write) {
    const std::string path =
        tests::golden_path("tape-v" + std::to_string(GetParam()) + which + ".tape");
    if (std::getenv("HEAPTAPE_UPDATE_GOLDEN") != nullptr && GetParam() == kCurrentVersion &&
        !std::filesystem::exists(path)) {
      write(path);
    }
    return path;
  }
  static TapeReader open(const std::string& which, Write write) {
    auto reader = TapeReader::open(path_of(which, write));
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  static TapeReader small() { return open("", write_small); }
};

TEST_P(GoldenTape, GivesItsHeader) {
  EXPECT_EQ(small().header(), tests::sample_header());
}

TEST_P(GoldenTape, GivesItsEvents) {
  TapeReader reader = small();
  EXPECT_EQ(tests::read_events(reader), kEvents);
}

TEST_P(GoldenTape, GivesItsTimesAndSamples) {
  TapeReader reader = small();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 100).ok());
  EXPECT_EQ(batch.times, (std::vector<TimeSample>{{6, 1'500'000}}));
  EXPECT_EQ(batch.samples, std::vector<ProcessSample>{kSample});
}

TEST_P(GoldenTape, GivesItsSummary) {
  EXPECT_EQ(*small().summary(), expected_summary(GetParam()));
}

TEST_P(GoldenTape, WithEverythingIsWhatWasRecorded) {
  const Contents all = rich_contents();
  for (const size_t batch_events : {1000, 7}) {
    const Contents got =
        tests::read_contents(path_of("-rich", write_rich), [&] { return batch_events; });
    EXPECT_EQ(got.events, all.events);
    EXPECT_TRUE(got == all);
  }
}

TEST_P(GoldenTape, ThatIsUnfinishedGivesWhatWasSaved) {
  const Contents all = rich_contents();
  EXPECT_FALSE(open("-unfinished", write_unfinished).finished());
  const Contents got =
      tests::read_contents(path_of("-unfinished", write_unfinished), [] { return 1000; });
  EXPECT_EQ(got.events, std::vector(all.events.begin(), all.events.begin() + kSavedEvents));
  EXPECT_EQ(got.stacks, std::vector(all.stacks.begin(), all.stacks.begin() + kSavedEvents));
  EXPECT_EQ(got.frames, std::vector(all.frames.begin(), all.frames.begin() + 2));
}

TEST_P(GoldenTape, OfAnAllocatorThatReusesBlocksIsWhatWasRecorded) {
  if (GetParam() < 2) return;  // version 1 has no free lists
  const std::vector<Event> events = reusing_events();
  constexpr Write kWriters[] = {write_reusing<0>, write_reusing<1>, write_reusing<2>};
  for (size_t i = 0; i < std::size(kFamilies); ++i) {
    TapeReader reader = open(std::string("-reuse-") + kFamilies[i], kWriters[i]);
    EXPECT_EQ(tests::read_events(reader), events) << kFamilies[i];
  }
}

INSTANTIATE_TEST_SUITE_P(OfVersion, GoldenTape, testing::Range(1, kCurrentVersion + 1));

// Lines like "0010  48 54 63 6b ..." of the document, against the bytes at that offset.
void expect_bytes(const std::string& line, const std::string& file) {
  size_t at = std::stoul(line.substr(0, 4), nullptr, 16);
  for (size_t i = 6; i + 1 < line.size() && i < 6 + 16 * 3; i += 3) {
    if (std::isxdigit(static_cast<unsigned char>(line[i])) == 0) break;
    const auto byte = static_cast<uint8_t>(std::stoul(line.substr(i, 2), nullptr, 16));
    ASSERT_EQ(byte, static_cast<uint8_t>(file.at(at++))) << "in the line " << line;
  }
}

TEST(TapeDocument, ShowsTheGoldenTape) {
  const std::string file =
      tests::read_bytes(tests::golden_path("tape-v" + std::to_string(kCurrentVersion) + ".tape"));
  std::ifstream document(tests::golden_path("../../docs/tape-format.md"));
  int lines = 0;
  for (std::string line; std::getline(document, line);) {
    const bool is_dump = line.size() > 8 && line.compare(4, 2, "  ") == 0 &&
                         line.find_first_not_of("0123456789abcdef") == 4;
    if (!is_dump) continue;
    expect_bytes(line, file);
    ++lines;
  }
  EXPECT_GT(lines, 10);
}

}  // namespace
}  // namespace heaptape::schema
