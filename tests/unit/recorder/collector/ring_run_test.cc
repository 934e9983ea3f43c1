#include "recorder/collector/ring_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

using tests::free_record;
using tests::RingPen;

constexpr uint64_t kNoCut = UINT64_MAX;

// Rings of calls whose addresses are 16 times their stamps.
class RingRunTest : public testing::Test {
 protected:
  RingPen& add_ring(const std::vector<uint64_t>& stamps) {
    const auto index = static_cast<uint32_t>(pens_.size());
    RingPen& pen = pens_.emplace_back(session_, index);
    for (const uint64_t stamp : stamps) pen.write(free_record(16 * stamp, stamp));
    cursors_.push_back(
        std::make_unique<RingCursor>(backlog_, session_.view(), index, index, nullptr));
    return pen;
  }
  // The stamps of the next run, with the ring of each call: "a1 b2".
  std::string take(uint64_t cut = kNoCut, uint32_t most = CallBatch::kMost) {
    heap_.clear();
    for (const auto& cursor : cursors_) {
      tests::copy_and_show(backlog_, *cursor);
      if (cursor->peek() != nullptr && cursor->order() <= cut) heap_.push_back(cursor.get());
    }
    std::ranges::make_heap(heap_, is_later);
    if (heap_.empty()) return {};
    run_ = merged_->take(heap_, cut, most);
    std::string text;
    for (const schema::Event& call : run_.calls) {
      text += static_cast<char>('a' + call.thread);
      text += std::to_string(call.freed_address / 16) + " ";
    }
    return text;
  }

  tests::FakeSession session_;
  Backlog backlog_;
  std::deque<RingPen> pens_;
  std::vector<std::unique_ptr<RingCursor>> cursors_;
  std::vector<RingCursor*> heap_;
  std::unique_ptr<RingRun> merged_ = std::make_unique<RingRun>();
  CallRun run_{};
};

TEST_F(RingRunTest, MergesByStamps) {
  add_ring({1, 4, 5});
  add_ring({2, 6});
  add_ring({3});
  EXPECT_EQ(take(), "a1 b2 c3 a4 a5 b6 ");
  EXPECT_TRUE(std::ranges::equal(std::vector<uint64_t>{1, 2, 3, 4, 5, 6},
                                 std::span(run_.stamps, run_.calls.size())));
  EXPECT_EQ(merged_->rings().size(), 3u);
}

TEST_F(RingRunTest, TakesNothingAboveTheCut) {
  add_ring({1, 4, 5});
  add_ring({2, 6});
  EXPECT_EQ(take(4), "a1 b2 a4 ");
}

TEST_F(RingRunTest, TakesNothingYoungerThanARingThatIsLeft) {
  std::string expected;
  for (uint32_t i = 0; i < RingRun::kMostRings; ++i) {
    add_ring({10 + i, 100 + i});
    expected += static_cast<char>('a' + i) + std::to_string(10 + i) + " ";
  }
  add_ring({50});
  EXPECT_EQ(take(), expected);
  EXPECT_EQ(merged_->rings().size(), RingRun::kMostRings);
  merged_->keep(RingRun::kMostRings);
  EXPECT_EQ(take().substr(0, 4), "i50 ");
}

TEST_F(RingRunTest, TakesAtMostSoManyOfEachRing) {
  add_ring({1, 2, 3, 4});
  add_ring({5, 6, 7, 8});
  EXPECT_EQ(take(kNoCut, 2), "a1 a2 ") << "what comes between 2 and 5 is not known";
  EXPECT_EQ(merged_->rings().size(), 2u);
}

// Its next call, in the next segment, may come before others'.
TEST_F(RingRunTest, EndsWhereARingsNextCallIsNotKnown) {
  add_ring({1, 3}).end_segment().write(free_record(16 * 4, 4));
  add_ring({2, 5});
  EXPECT_EQ(take(), "a1 b2 a3 ");
  merged_->keep(3);
  EXPECT_EQ(take(), "a4 b5 ");
}

TEST_F(RingRunTest, EndsBehindTheLastCallOfADeadThread) {
  add_ring({1, 4, 9});
  add_ring({2, 3}).header().lock.word = tests::kDeadOwner;
  EXPECT_EQ(take(), "a1 b2 b3 ");
}

TEST_F(RingRunTest, ReturnsWhatIsNotKept) {
  add_ring({1, 4, 5});
  add_ring({2, 6});
  EXPECT_EQ(take(), "a1 b2 a4 a5 b6 ");
  EXPECT_EQ(merged_->ring_of(2).thread(), 0u);
  EXPECT_EQ(merged_->ring_of(4).thread(), 1u);
  merged_->keep(2);
  EXPECT_EQ(take(), "a4 a5 b6 ");
  merged_->keep(0);
  EXPECT_EQ(take(), "a4 a5 b6 ");
  merged_->keep(3);
  EXPECT_EQ(take(3), "") << "nothing is visible";
}

TEST_F(RingRunTest, TakesCallsWithoutAStampByThemselves) {
  add_ring({}).write(free_record(16 * 1)).write(free_record(16 * 2)).write(free_record(16 * 7, 7));
  add_ring({5});
  EXPECT_EQ(take(), "a1 a2 ");
  EXPECT_EQ(run_.stamps, nullptr);
  EXPECT_EQ(merged_->rings().size(), 2u);
  EXPECT_EQ(merged_->ring_of(1).thread(), 0u);
  merged_->keep(1);
  EXPECT_EQ(take(), "a2 ");
  merged_->keep(1);
  EXPECT_EQ(take(), "b5 a7 ");
}

TEST_F(RingRunTest, TakesEqualStampsOnce) {
  add_ring({1, 2, 2});
  add_ring({2, 2, 3});
  const std::string all = take();
  EXPECT_EQ(std::ranges::count(all, ' '), 6);
  EXPECT_EQ(all.substr(0, 3), "a1 ");
  EXPECT_EQ(all.substr(all.size() - 3), "b3 ");
}

// Nobody of ours makes such a stamp; it must not stop the merge.
TEST_F(RingRunTest, TakesTheHighestStamp) {
  add_ring({1});
  pens_[0].write(free_record(0x1000, kNoCut));
  add_ring({2});
  uint64_t calls = 0;
  for (int i = 0; i < 3; ++i) {
    take();
    calls += run_.calls.size();
    merged_->keep(run_.calls.size());
    if (calls == 3) break;
  }
  EXPECT_EQ(calls, 3u);
}

}  // namespace
}  // namespace heaptape::recorder
