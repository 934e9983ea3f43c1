// What a writer makes of a disk that is full.
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <csignal>
#include <filesystem>

#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

// While it lives, no file of this process grows past `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(FullDisk, LeavesRoomForTheIndex) {
  // tmpfs holds what is reserved to the file size limit, as a disk holds it to its size.
  struct statfs system{};
  if (statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) {
    GTEST_SKIP() << "needs a tmpfs in /dev/shm";
  }
  tests::TempDir dir("/dev/shm");
  tests::Random random(5);
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  ASSERT_TRUE(writer.ok());
  const FileSizeLimit limit(1 << 18);
  for (const Event& event : tests::arbitrary_events(random, 8000)) {
    (*writer)->append(event);
    if ((*writer)->events() % 4 == 0) (*writer)->flush();  // small chunks, a large index
  }
  const auto summary = (*writer)->finish({});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->end_reason, EndReason::kDiskFull);
  EXPECT_EQ(TapeReader::open(dir.file("t"))->events(), summary->events);
}

// Longer than the room that is kept for the summary.
TEST(FullDisk, LeavesOutAListOfFilesThatDoesNotFit) {
  struct statfs system{};
  if (statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) {
    GTEST_SKIP() << "needs a tmpfs in /dev/shm";
  }
  tests::TempDir dir("/dev/shm");
  tests::Random random(7);
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  ASSERT_TRUE(writer.ok());
  TapeSummary files;
  for (int i = 0; i < 256; ++i) {
    std::string path;
    while (path.size() < 1000) path += static_cast<char>('0' + random.below(64));
    files.inner_allocators.push_back({path, {"jemalloc"}});
  }
  const FileSizeLimit limit(1 << 18);
  for (const Event& event : tests::arbitrary_events(random, 8000)) {
    (*writer)->append(event);
    if ((*writer)->events() % 4 == 0) (*writer)->flush();
  }
  const auto summary = (*writer)->finish(files);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->end_reason, EndReason::kDiskFull);
  EXPECT_TRUE(TapeReader::open(dir.file("t"))->summary()->inner_allocators.empty());
}

// The youngest of the last calls are kept; the others are counted.
TEST(FullDisk, LosesTheOldestOfTheLastCalls) {
  struct statfs system{};
  if (statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) {
    GTEST_SKIP() << "needs a tmpfs in /dev/shm";
  }
  tests::TempDir dir("/dev/shm");
  tests::Random random(8);
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->keep_last({.bytes = 8 << 20});
  const auto events = tests::plausible_events(random, 200'000);
  for (const Event& event : events) {
    (*writer)->append(event);
    if ((*writer)->events() % 5'000 == 0) (*writer)->flush();
  }
  {
    const FileSizeLimit limit(1 << 18);
    const auto copy = (*writer)->write_copy(dir.file("copy"), {});
    ASSERT_FALSE(copy.ok()) << "a copy is whole, or there is none";
    EXPECT_EQ(copy.error().code, base::ErrorCode::kNoSpace);
    EXPECT_FALSE(std::filesystem::exists(dir.file("copy")));
    EXPECT_FALSE(std::filesystem::exists(dir.file("copy.partial")));
  }
  const auto whole = (*writer)->write_copy(dir.file("copy"), {});
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->events, events.size());
  const FileSizeLimit limit(1 << 18);
  const auto summary = (*writer)->finish({});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->end_reason, EndReason::kDiskFull);
  auto reader = TapeReader::open(dir.file("t"));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(reader->events(), summary->events);
  const uint64_t kept = reader->events() - reader->inherited_blocks();
  EXPECT_GT(kept, 10'000u);
  EXPECT_EQ(kept + summary->losses.lost_events, events.size());
  EXPECT_EQ(reader->dropped_calls(), summary->losses.lost_events);
  EXPECT_EQ(tests::read_events(*reader).back(), events.back());
}

// Those that lie on the disk: the oldest make room for the others, as if less were to be kept.
TEST(FullDisk, DropsTheOldestOfTheLastCallsOnDisk) {
  tests::TempDir dir;
  tests::Random random(10);
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  ASSERT_TRUE(writer.ok());
  const std::shared_ptr<WindowFile> file = *WindowFile::create(dir.file("t"));
  (*writer)->keep_last({.bytes = 8 << 20}, file);
  const auto events = tests::plausible_events(random, 200'000);
  {
    const FileSizeLimit limit(1 << 17);
    for (const Event& event : events) {
      (*writer)->append(event);
      if ((*writer)->events() % 5'000 == 0) (*writer)->flush();
    }
  }
  EXPECT_FALSE(file->take_failure().ok());
  const auto summary = (*writer)->finish({});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->end_reason, EndReason::kExited) << "there is room again";
  EXPECT_EQ(summary->losses.lost_events, 0u);
  auto reader = TapeReader::open(dir.file("t"));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  const uint64_t kept = reader->events() - reader->inherited_blocks();
  EXPECT_GT(kept, 10'000u);
  EXPECT_EQ(kept + reader->dropped_calls(), events.size());
  EXPECT_EQ(tests::read_events(*reader).back(), events.back());
}

// The youngest chunk then stays in memory.
TEST(FullDisk, LeavesOneChunkOfTheLastCallsInMemory) {
  tests::TempDir dir;
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->keep_last({.bytes = 8 << 20}, *WindowFile::create(dir.file("t")));
  {
    const FileSizeLimit limit(10);
    for (uint64_t i = 0; i < 100'000; ++i) {
      (*writer)->append(tests::malloc_event(16, 0x1000 + i * i % 99'991 * 16));
      if (i % 10'000 == 9'999) (*writer)->flush();
    }
  }
  const auto summary = (*writer)->finish({});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->losses.lost_events, 0u);
  const auto reader = TapeReader::open(dir.file("t"));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(reader->dropped_calls(), 90'000u);
  EXPECT_EQ(reader->events() - reader->inherited_blocks(), 10'000u);
}

// Not even the blocks from before find room.
TEST(FullDisk, CountsAllOfTheLastCallsAsLost) {
  tests::TempDir dir;
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  ASSERT_TRUE(writer.ok());
  (*writer)->keep_last({.time_ns = 0});
  for (uint64_t i = 0; i < 100'000; ++i) {
    (*writer)->append(tests::malloc_event(16, 0x1000 + i * i % 99'991 * 16));
    if (i % 20'000 == 0) (*writer)->flush();
  }
  const FileSizeLimit limit(4'000);
  const auto summary = (*writer)->finish({});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->end_reason, EndReason::kDiskFull);
  EXPECT_EQ(summary->events, 0u);
  EXPECT_EQ(summary->losses.lost_events, 19'999u) << "those kept; the others were dropped";
}

// The same of a tape that has no file yet, as those of children have none.
TEST(FullDisk, CountsTheLastCallsThatNeverHadAFile) {
  tests::TempDir dir;
  tests::Random random(9);
  FrameCompressor compressor;
  TapeOutput output(dir.file("t"), tests::sample_header());
  output.keep_last({.time_ns = 0});
  EventEncoder encoder;
  for (uint64_t i = 0; i < 2'000; ++i) {
    encoder.append(tests::malloc_event(random.below(100'000), 0x10000 + i * 0x20000));
    if (encoder.count() == 1'000) output.write(encoder.take(), compressor);
  }
  const FileSizeLimit limit(2000);
  const auto summary = output.finish({}, {}, compressor);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->end_reason, EndReason::kDiskFull);
  EXPECT_EQ(summary->losses.lost_events, 1'000u) << "the others were dropped on request";
}

TEST(FullDisk, LeavesATapeThatSaysThatItsOneChunkFoundNoRoom) {
  tests::TempDir dir;
  tests::Random random(6);
  EventEncoder encoder;
  encoder.set_unit_log2(0);
  for (const Event& event : tests::arbitrary_events(random, 1000)) encoder.append(event);
  FrameCompressor compressor;
  TapeOutput output(dir.file("t"), tests::sample_header());
  const FileSizeLimit limit(2000);
  const auto summary = output.finish(encoder.take(), {}, compressor);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->losses.lost_events, 1000u);
  EXPECT_EQ(TapeReader::open(dir.file("t"))->summary()->end_reason, EndReason::kDiskFull);
}

TEST(FullDisk, CostsNothingButSavesAsLongAsOnlyTheyFindNoRoom) {
  tests::TempDir dir;
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  const FileSizeLimit limit(1 << 20);  // saves lie behind that
  for (uint64_t i = 0; i < 1000; ++i) {
    (*writer)->append(tests::malloc_event(16, 0x1000 + i * 16));
    (*writer)->save();
  }
  const auto summary = (*writer)->finish({});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->events, 1000u);
  EXPECT_EQ(summary->end_reason, EndReason::kExited);
}

TEST(FullDisk, CutsTheTapeShortAndCountsTheLoss) {
  // Most file systems do not hold a reserve to the limit, so it is lifted for the footer.
  tests::TempDir dir;
  tests::Random random(4);
  const auto events = tests::arbitrary_events(random, 200000);
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  ASSERT_TRUE(writer.ok());
  {
    const FileSizeLimit limit(1 << 20);
    for (const Event& event : events) (*writer)->append(event);
    (*writer)->flush();
  }
  const auto summary = (*writer)->finish({});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->end_reason, EndReason::kDiskFull);
  EXPECT_GT(summary->losses.lost_events, 0u);
  EXPECT_EQ(summary->events + summary->losses.lost_events, events.size());
  EXPECT_EQ(summary->allocations + summary->frees + summary->reallocations, summary->events);
  auto reader = TapeReader::open(dir.file("t"));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(
      tests::read_events(*reader),
      std::vector<Event>(events.begin(), events.begin() + static_cast<ptrdiff_t>(summary->events)));
}

}  // namespace
}  // namespace heaptape::schema
