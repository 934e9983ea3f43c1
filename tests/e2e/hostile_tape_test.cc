// Whole tapes whose events make no sense, and ones of a size that must not matter.
#include <gtest/gtest.h>

#include <filesystem>

#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using schema::Event;
using schema::Op;
using tests::count_of;

const std::vector<std::string> kAll = {"recorded", "noop",     "glibc",     "jemalloc",
                                       "mimalloc", "tcmalloc", "model:runs"};

// Small, or more than any address space holds: what lies between, some allocators have to give.
uint64_t hostile_size(tests::Random& random) {
  if (random.chance(2)) return random.below(5000);
  return random.chance(2) ? UINT64_MAX - random.below(5000) : (UINT64_MAX >> random.below(15));
}

class HostileTape : public testing::Test {
 protected:
  schema::ReportFigures replay(const std::vector<Event>& events,
                               const std::vector<std::string>& specs = kAll,
                               const std::vector<std::string>& options = {}) {
    tests::write_tape(tape_, events);
    return tests::replay_report(dir_, tape_, specs, options);
  }
  void expect_accounted(const schema::ReportFigures& report, uint64_t events) {
    for (const auto& run : report.runs) {
      EXPECT_EQ(count_of(run, "accounting.replayed") + count_of(run, "accounting.failedCalls") +
                    count_of(run, "accounting.unknownFrees") + count_of(run, "accounting.refused"),
                events)
          << run.label;
    }
  }
  std::vector<Event> with_hostile_sizes(std::vector<Event> events) {
    for (Event& event : events) {
      if (schema::op_info(event.op).kind != schema::OpKind::kRelease) {
        event.size = hostile_size(random_);
      }
    }
    return events;
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("t.tape");
  tests::Random random_{17};
};

TEST_F(HostileTape, WithSizesBeyondAllMemoryIsReplayed) {
  const auto events = with_hostile_sizes(tests::eventful_events(random_, 3000));
  expect_accounted(replay(events), events.size());
}

TEST_F(HostileTape, OfArbitraryEventsIsReplayed) {
  // Sizes of aligned calls are rounded up to alignments that may be those of a whole memory.
  const auto events = with_hostile_sizes(tests::arbitrary_events(random_, 3000));
  expect_accounted(replay(events, kAll, {"--touch", "none", "--samples", "3"}), events.size());
}

// As programs do that use a little of a large block.
TEST_F(HostileTape, WithABlockLargerThanMemoryIsReplayedUntouched) {
  const std::vector<Event> events = {tests::malloc_event(uint64_t{1} << 42, 0x7f0000000010)};
  expect_accounted(replay(events, {"jemalloc"}, {"--touch", "none"}), 1);
  const auto touched =
      tests::run({"heaptape", "replay", tape_, "-a", "jemalloc", "-a", "model:bump"});
  EXPECT_EQ(touched.status, 1) << touched.describe();
  EXPECT_NE(touched.out.find("failed: jemalloc at #1: "), std::string::npos) << touched.out;
  EXPECT_NE(touched.out.find("--touch none"), std::string::npos);
  EXPECT_NE(touched.out.find("\nmodel:bump  4.00 TiB"), std::string::npos) << touched.out;
}

TEST_F(HostileTape, WithEveryAlignmentIsReplayed) {
  std::vector<Event> events;
  for (const Op op : {Op::kMemalign, Op::kAlignedAlloc, Op::kPosixMemalign, Op::kNewAligned}) {
    for (int log2 = 21; log2 <= 64; ++log2) {
      const uint64_t address = 0x10000 * (events.size() + 1);
      const uint64_t alignment = log2 == 64 ? UINT64_MAX : uint64_t{1} << log2;
      events.push_back(
          {op, 0, log2 < 25 ? uint64_t{100} : uint64_t{1} << 62, alignment, address, 0});
    }
  }
  expect_accounted(replay(events), events.size());
}

TEST_F(HostileTape, WithAMillionThreadsIsReplayed) {
  std::vector<Event> events;
  for (uint32_t thread = 0; thread < (1u << 20); thread += 7) {
    events.push_back(tests::malloc_event(16, 0x10000, thread));
    events.push_back(tests::free_event(0x10000, thread + 1));
  }
  const auto report = replay(events, {"noop", "model:runs"});
  expect_accounted(report, events.size());
}

TEST_F(HostileTape, WithBlocksAtOneAddressIsReplayed) {
  const std::vector<Event> events(20000, tests::malloc_event(100, 0x10000));
  const auto report = replay(events);
  expect_accounted(report, events.size());
  for (const auto& run : report.runs) EXPECT_EQ(count_of(run, "end.liveCount"), 20000u);
}

TEST_F(HostileTape, WithSamplesOfAnyMemoryIsReplayed) {
  auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
  for (const Event& event : tests::plausible_events(random_, 2000)) {
    (*writer)->append(event);
    const uint64_t begin = random_.next() % base::kAddressLimit;
    const uint64_t end = begin + random_.next() % (base::kAddressLimit - begin);
    (*writer)->add_sample({0, 0, random_.next(), {{begin, end}, {5, 6}, {begin, begin}}});
  }
  EXPECT_TRUE((*writer)->finish({}).ok());
  const auto report = tests::replay_report(dir_, tape_, {"recorded", "noop"});
  expect_accounted(report, 2000);
}

// Calls that never end, of a program with 64 blocks.
void write_long_tape(const std::string& path, uint64_t events) {
  auto writer = schema::TapeWriter::create(path, tests::sample_header());
  ASSERT_TRUE(writer.ok());
  for (uint64_t i = 0; i < events; i += 2) {
    const uint64_t address = 0x555555560000 + i % 128 * 64;
    if (i >= 128) (*writer)->append(tests::free_event(address));
    (*writer)->append(tests::malloc_event(40 + i % 50, address));
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
}

TEST(Memory, OfAReplayGrowsWithBlocksAndNotWithEvents) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  const tests::TempDir dir;
  std::vector<uint64_t> peaks;
  for (const uint64_t events : {1'000'000u, 20'000'000u}) {
    write_long_tape(dir.file("t"), events);
    const auto outcome = tests::run(
        {"heaptape", "replay", dir.file("t"), "-a", "recorded", "-a", "model:runs", "-a", "glibc"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    peaks.push_back(outcome.peak_resident_bytes);
  }
  EXPECT_LT(peaks[1], peaks[0] + (4 << 20));
  EXPECT_LT(peaks[1], 64u << 20);
}

}  // namespace
}  // namespace heaptape
