// What a merge does where its tape ends, and where another begins: docs/decisions/0046-control.md.
#include <gtest/gtest.h>

#include "recorder/collector/ring_merge.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/fake_session.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using tests::free_record;
using tests::malloc_record;
using tests::realloc_record;
using tests::RingPen;

constexpr uint64_t kBeginNs = 1'000'000'000;
constexpr uint64_t kCut = 50;
constexpr uint64_t kX = 0x1000, kY = 0x2000;

class MergeIntervals : public testing::Test {
 protected:
  MergeIntervals() {
    merge_.add_ring(0);
    merge_.add_ring(1);
  }
  std::unique_ptr<schema::TapeWriter> create_tape(const std::string& name) {
    return std::move(*schema::TapeWriter::create(dir_.file(name), tests::sample_header()));
  }
  // "a+1 b-1": the thread's letter, -what it freed, +what it got.
  std::string story(RingMerge& merge, schema::TapeWriter& tape, const std::string& name) {
    merge.finish_times();
    summary_ = merge.collect_summary(kBeginNs + 5);
    EXPECT_TRUE(tape.finish(summary_).ok());
    auto reader = schema::TapeReader::open(dir_.file(name));
    schema::EventBatch batch;
    EXPECT_TRUE(reader->read(batch, 1000).ok());
    std::string text;
    for (const schema::Event& event : batch.events) {
      text += static_cast<char>('a' + event.thread);
      if (event.freed_address != 0) text += "-" + std::to_string(event.freed_address >> 12);
      if (event.address != 0) text += "+" + std::to_string(event.address >> 12);
      text += " ";
    }
    return text;
  }
  std::string first_story() { return story(merge_, *first_, "1"); }
  std::string second_story() {
    RingMerge next(std::move(merge_), second_->encoder(), kCut);
    next.drain(RingMerge::kEverything, kBeginNs);
    return story(next, *second_, "2");
  }

  tests::TempDir dir_;
  tests::FakeSession session_;
  ProcessSlot& slot_ = session_.join(0, 42);
  Backlog backlog_;
  RingPen a_{session_, 0};
  RingPen b_{session_, 1};
  std::unique_ptr<schema::TapeWriter> first_ = create_tape("1");
  std::unique_ptr<schema::TapeWriter> second_ = create_tape("2");
  RingMerge merge_{backlog_, session_.view(), 0, first_->encoder(), kBeginNs};
  schema::TapeSummary summary_;
};

TEST_F(MergeIntervals, PartTheCallsAtTheCut) {
  a_.write(malloc_record(kX, 10)).write(free_record(kX, 60));
  b_.write(malloc_record(kY, 49)).write(malloc_record(kX, 70));
  merge_.drain(kCut, kBeginNs);
  EXPECT_EQ(second_story(), "a-1 b+1 ");
  EXPECT_EQ(summary_.unknown_frees, 1u);
}

// Its thread has the block that it got only behind the cut, and that may be free by then.
TEST_F(MergeIntervals, EndWithTheOldBlockOfAResize) {
  a_.write(malloc_record(kX, 10)).write(realloc_record(kX, kY, 20, 70));
  b_.write(malloc_record(kY, 11)).write(malloc_record(kX, 30));
  merge_.end_at(kCut);
  merge_.drain(kCut, kBeginNs);
  EXPECT_EQ(first_story(), "a+1 b+2 a-1 b+1 ");
  EXPECT_EQ(summary_.losses.unrepaired_inversions, 0u);
}

// Its old block is another thread's by now.
TEST_F(MergeIntervals, BeginWithoutAResizeOfBefore) {
  a_.write(malloc_record(kX, 10)).write(realloc_record(kX, kY, 20, 70));
  b_.write(malloc_record(kX, 60)).write(free_record(kX, 80));
  merge_.drain(kCut, kBeginNs);
  EXPECT_EQ(second_story(), "b+1 b-1 ");
  EXPECT_EQ(summary_.unknown_frees, 0u);
}

TEST_F(MergeIntervals, CountAnew) {
  a_.header().lost_full = 3;
  session_.view().process(0).nested = 4;
  a_.write(free_record(kX, 10));
  merge_.drain(kCut, kBeginNs);
  EXPECT_EQ(merge_.collect_summary(kBeginNs).losses.lost_events, 3u);
  EXPECT_EQ(second_story(), "");
  EXPECT_EQ(summary_.losses.lost_events, 0u);
  EXPECT_EQ(summary_.nested_calls, 0u);
  EXPECT_EQ(summary_.unknown_frees, 0u);
}

}  // namespace
}  // namespace heaptape::recorder
