// model:ideal commits what is live, rounded up to pages, at every moment of every replay.
#include <gtest/gtest.h>

#include <algorithm>

#include "allocators/models/textbook/ideal_heap.h"
#include "tests/support/replays.h"
#include "tests/support/seeded_random.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators::textbook {
namespace {

replayer::RunMetrics replayed(const std::vector<schema::Event>& events) {
  const auto runs = tests::replay_events(events, tests::replay_options({"model:ideal"}));
  return runs.empty() ? replayer::RunMetrics() : runs.front();
}

// Calls whose size goes to the allocator as it is on the tape: pvalloc and aligned new round it up,
// and what is new or resized has one byte at least.
std::vector<schema::Event> random_events(tests::Random& random) {
  std::vector<schema::Event> events = tests::eventful_events(random, 20'000);
  for (schema::Event& event : events) {
    if (schema::op_info(event.op).kind == schema::OpKind::kAllocate) {
      event.op = random.chance(2) ? schema::Op::kMalloc : schema::Op::kCalloc;
      event.alignment = 0;
    } else if (event.address != 0) {
      event.size = std::max<uint64_t>(event.size, 1);
    }
  }
  return events;
}

class IdealReplay : public testing::Test {
 protected:
  tests::SeededRandom random_;
  const replayer::RunMetrics metrics_ = replayed(random_events(random_));
};

TEST_F(IdealReplay, PeaksAtThePagesOfTheLivePeak) {
  EXPECT_GT(metrics_.live_bytes_peak.value, 4096u);
  EXPECT_EQ(metrics_.committed_bytes_peak.value, page_up(metrics_.live_bytes_peak.value));
}

TEST_F(IdealReplay, EndsWithThePagesOfWhatIsLive) {
  EXPECT_EQ(metrics_.end.committed_bytes, page_up(metrics_.end.live.live_bytes));
}

TEST_F(IdealReplay, HoldsNoMoreThanIsLiveAtEverySample) {
  ASSERT_GT(metrics_.timeline.size(), 100u);
  for (const replayer::Snapshot& sample : metrics_.timeline) {
    EXPECT_EQ(sample.committed_bytes, page_up(sample.live.live_bytes)) << sample.at;
    EXPECT_EQ(sample.resident_bytes, sample.committed_bytes);
  }
}

TEST_F(IdealReplay, HasNoHolesAndNoTop) {
  EXPECT_EQ(metrics_.holes_at_committed_peak.count, 0u);
  for (const replayer::Snapshot& sample : metrics_.timeline) {
    EXPECT_EQ(sample.holes.bytes + sample.holes.top_bytes + sample.resident_hole_bytes, 0u);
  }
}

TEST(IdealModel, FollowsWhatIsLiveByThePage) {
  AddressSpace space;
  IdealModel model(space, base::Values());
  model.allocate(0, 0);
  EXPECT_TRUE(space.events().empty());
  const uint64_t block = model.allocate(4096, 1 << 20).address;
  model.allocate(1, 0);
  model.reallocate(block, 1);
  model.release(block);
  std::vector<AddressRange> ranges;
  for (const RegionEvent& event : space.events()) ranges.push_back(event.range);
  EXPECT_EQ(ranges, (std::vector<AddressRange>{{kModelBase, kModelBase + 4096},
                                               {kModelBase + 4096, kModelBase + 8192},
                                               {kModelBase + 4096, kModelBase + 8192}}));
}

TEST(IdealModel, RefusesWhatIsBeyondTheAddressSpace) {
  AddressSpace space;
  IdealModel model(space, base::Values());
  const uint64_t block = model.allocate(100, 0).address;
  EXPECT_EQ(model.allocate(kHeapLimit - kModelBase, 0).address, 0u);
  EXPECT_EQ(model.reallocate(block, UINT64_MAX).address, 0u);
}

}  // namespace
}  // namespace heaptape::allocators::textbook
