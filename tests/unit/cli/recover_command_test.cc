#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands.h"
#include "cli/tape_reading.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::cli {
namespace {

struct Samples {
  std::vector<schema::TimeSample> times;
  std::vector<schema::ProcessSample> samples;
  std::vector<schema::ThreadEnd> ends;
  std::vector<schema::Mark> marks;
};

Samples samples_of(const std::string& path) {
  Samples all;
  auto tape = schema::TapeReader::open(path);
  EXPECT_TRUE(tape.ok()) << tape.error().message;
  EXPECT_TRUE(for_each_batch(*tape, [&all](const schema::EventBatch& batch) {
                all.times.insert(all.times.end(), batch.times.begin(), batch.times.end());
                all.ends.insert(all.ends.end(), batch.thread_ends.begin(), batch.thread_ends.end());
                all.marks.insert(all.marks.end(), batch.marks.begin(), batch.marks.end());
                all.samples.insert(all.samples.end(), batch.samples.begin(), batch.samples.end());
              }).ok());
  return all;
}

class RecoverCommand : public testing::Test {
 protected:
  // After every third of the events a sample, after every second the time, after every fifth the
  // end of a thread, after every fourth a mark.
  RecoverCommand() {
    auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
    for (uint64_t i = 1; i <= 10; ++i) {
      (*writer)->append(tests::malloc_event(1, i * 0x1000));
      if (i % 2 == 0) (*writer)->add_time(i * 1000);
      if (i % 3 == 0) (*writer)->add_sample({0, i * 1000, i * 4096, {{0x1000, i * 0x1000}}});
      if (i % 5 == 0) (*writer)->add_end(static_cast<uint32_t>(i));
      if (i % 4 == 0) (*writer)->add_mark(std::to_string(i), i * 1000);
      if (i == 6) (*writer)->flush();
    }
    EXPECT_TRUE((*writer)->finish({}).ok());
    Console console(out_, err_);
    EXPECT_EQ(run_recover({tape_, recovered_}, console), 0) << err_.str();
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("t");
  std::string recovered_ = dir_.file("recovered");
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(RecoverCommand, LeavesEachSampleAtItsEvent) {
  const auto samples = samples_of(recovered_).samples;
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples, samples_of(tape_).samples);
}

TEST_F(RecoverCommand, LeavesEachTimeAtItsEvent) {
  const auto times = samples_of(recovered_).times;
  ASSERT_EQ(times.size(), 5u);
  EXPECT_EQ(times, samples_of(tape_).times);
}

TEST_F(RecoverCommand, LeavesEachThreadEndAtItsEvent) {
  EXPECT_EQ(samples_of(recovered_).ends, (std::vector<schema::ThreadEnd>{{5, 5}, {10, 10}}));
}

TEST_F(RecoverCommand, LeavesEachMarkAtItsEvent) {
  EXPECT_EQ(samples_of(recovered_).marks,
            (std::vector<schema::Mark>{{4, 4000, "4"}, {8, 8000, "8"}}));
}

TEST_F(RecoverCommand, KeepsWhatAnUnfinishedTapeSavedLast) {
  const std::string unfinished = dir_.file("unfinished");
  auto writer = schema::TapeWriter::create(unfinished, tests::sample_header());
  for (uint64_t i = 1; i <= 10; ++i) {
    (*writer)->append(tests::malloc_event(1, i * 0x1000));
    if (i % 4 == 0) (*writer)->save();
  }
  Console console(out_, err_);
  EXPECT_EQ(run_recover({unfinished + ".partial", recovered_}, console), 0) << err_.str();
  const auto tape = schema::TapeReader::open(recovered_);
  ASSERT_TRUE(tape.ok());
  EXPECT_EQ(tape->summary()->events, 8u);
  EXPECT_EQ(tape->summary()->losses.lost_ranges, 1u);  // nobody knows what came behind
}

}  // namespace
}  // namespace heaptape::cli
