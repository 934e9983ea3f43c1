// The metrics of a run whose allocator says just what the test wants it to.
// Over 300 lines, because one fixture serves all of them.
#include "replayer/engine/run_analysis.h"
#include "base/address/pages.h"

#include <gtest/gtest.h>

#include <memory>

namespace heaptape::replayer {
namespace {

using allocators::AddressRange;
using allocators::BatchResult;
using allocators::Placement;
using allocators::RegionEvent;
using allocators::ReplayKind;
using allocators::ReplayOp;

using base::kPageBytes;
constexpr uint64_t kHeap = 0x100000;

class Analysis : public testing::Test {
 protected:
  void commit(uint64_t begin, uint64_t end, const allocators::CommitRule& rule = {}) {
    note(RegionEvent::Kind::kCommit, begin, end);
    result_.regions.back().rule = rule;
  }
  void commit_unseen(uint64_t begin, uint64_t end) {
    note(RegionEvent::Kind::kCommit, begin, end);
    result_.regions.back().is_unseen = true;
  }
  void decommit(uint64_t begin, uint64_t end) { note(RegionEvent::Kind::kDecommit, begin, end); }

  // One more event, in which the changes of memory noted since the last one happened.
  void event(ReplayKind kind, uint32_t slot, uint64_t size = 0, Placement placement = {}) {
    batch_.ops.push_back({kind, 0, 0, slot, size});
    batch_.recorded_addresses.push_back(placement.address);
    batch_.live_bytes.push_back(live_bytes_);
    result_.placements.push_back(placement);
    batch_.slot_limit = std::max(batch_.slot_limit, slot + 1);
  }
  void allocate(uint32_t slot, uint64_t size, uint64_t address, uint64_t usable) {
    live_bytes_ += size;
    event(ReplayKind::kMalloc, slot, size, {address, usable});
  }
  void resize(uint32_t slot, uint64_t size, uint64_t address, uint64_t usable) {
    event(ReplayKind::kRealloc, slot, size, {address, usable});
  }
  void free(uint32_t slot) { event(ReplayKind::kFree, slot); }

  // Gives the analysis the events so far as one batch.
  void end_batch() {
    EXPECT_TRUE(analysis_.add(batch_, result_).ok());
    batch_.first_event += batch_.ops.size();
    batch_.ops.clear();
    batch_.recorded_addresses.clear();
    batch_.live_bytes.clear();
    result_.clear();
  }
  // Ends the run.
  const RunMetrics& metrics() {
    if (ended_) return metrics_;
    ended_ = true;
    end_batch();
    analysis_.sample({0, std::nullopt});
    return metrics_ = analysis_.take_metrics();
  }

  RunAnalysis analysis_{allocators::BackendTraits{}, {}};
  ResolvedBatch batch_;
  BatchResult result_;

 private:
  void note(RegionEvent::Kind kind, uint64_t begin, uint64_t end) {
    result_.regions.push_back({static_cast<uint32_t>(batch_.ops.size()), kind, {begin, end}});
  }

  uint64_t live_bytes_ = 0;
  bool ended_ = false;
  RunMetrics metrics_;
};

TEST_F(Analysis, StartsWithWhatTheAllocatorTookBeforeItsFirstCall) {
  analysis_.start({{0, RegionEvent::Kind::kCommit, {kHeap, kHeap + 3 * kPageBytes}}});
  EXPECT_EQ(metrics().end.committed_bytes, 3 * kPageBytes);
  EXPECT_EQ(metrics().committed_bytes_peak.value, 3 * kPageBytes);
  EXPECT_EQ(metrics().committed_bytes_peak.at, 0u);
}

TEST_F(Analysis, KnowsNoHolesWhereNoBlocksArePlaced) {
  allocators::BackendTraits traits;
  traits.places_blocks = false;
  RunAnalysis analysis(traits, {});
  analysis.start({{0, RegionEvent::Kind::kCommit, {kHeap, kHeap + 3 * kPageBytes}}});
  analysis.sample({0, std::nullopt});
  const Snapshot end = analysis.take_metrics().end;
  EXPECT_EQ(end.committed_bytes, 3 * kPageBytes);
  EXPECT_EQ(end.holes.top_bytes, 0u);
}

TEST_F(Analysis, KeepsUsableBytesAndTheirPeak) {
  allocate(0, 10, kHeap, 24);
  allocate(1, 30, kHeap + 32, 40);
  free(0);
  EXPECT_EQ(metrics().end.usable_bytes, 40u);
  EXPECT_EQ(metrics().usable_bytes_peak.value, 64u);
  EXPECT_EQ(metrics().usable_bytes_peak.at, 2u);
}

TEST_F(Analysis, FindsThePeakOfCommittedBytesBetweenTwoBatches) {
  allocate(0, 10, kHeap, 24);
  end_batch();
  commit(kHeap, kHeap + 8 * kPageBytes);
  allocate(1, 30, kHeap + 32, 40);
  decommit(kHeap + kPageBytes, kHeap + 8 * kPageBytes);
  free(0);
  EXPECT_EQ(metrics().committed_bytes_peak.value, 8 * kPageBytes);
  EXPECT_EQ(metrics().committed_bytes_peak.at, 2u);
  EXPECT_EQ(metrics().end.committed_bytes, kPageBytes);
}

TEST_F(Analysis, RemembersTheHolesAndLiveBytesAtThePeakOfCommittedBytes) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, 10, kHeap, 32);
  allocate(1, 10, kHeap + 96, 32);
  commit(kHeap + kPageBytes, kHeap + 2 * kPageBytes);
  allocate(2, 10, kHeap + 192, 32);
  free(1);
  EXPECT_EQ(metrics().holes_at_committed_peak.count, 2u);
  EXPECT_EQ(metrics().holes_at_committed_peak.bytes, 128u);
  EXPECT_EQ(metrics().live_bytes_at_committed_peak, 30u);
  EXPECT_EQ(metrics().end.holes.count, 1u);
  EXPECT_EQ(metrics().end.holes.bytes, 160u);
}

TEST_F(Analysis, RemembersTheLiveBytesOfThePeakAndNotOfTheBatch) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, 100, kHeap, 112);
  allocate(1, 50, kHeap + 112, 64);
  batch_.live.live_bytes = 150;
  EXPECT_EQ(metrics().live_bytes_at_committed_peak, 100u);
}

// The block of the peak's event is in place, that of the next one is not.
TEST_F(Analysis, CountsTheHolesOfAPeakBeforeTheNextEventPlacesItsBlock) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, 16, kHeap + 512, 16);
  allocate(1, 16, kHeap + 1024, 16);
  EXPECT_EQ(metrics().holes_at_committed_peak.count, 0u);
  EXPECT_EQ(metrics().holes_at_committed_peak.top_bytes, kPageBytes - 528);
}

// Memory may also come or go behind the last op of a batch.
TEST_F(Analysis, CountsTheHolesOfAPeakBeforeMemoryGoesBehindTheBatch) {
  commit(kHeap, kHeap + 2 * kPageBytes);
  allocate(0, 16, kHeap + kPageBytes, 16);
  decommit(kHeap, kHeap + kPageBytes);
  EXPECT_EQ(metrics().holes_at_committed_peak.bytes, kPageBytes);
  EXPECT_EQ(metrics().end.holes.bytes, 0u);
}

// Each event takes a page, so the peak is the last; between them nothing is summed up.
TEST_F(Analysis, RemembersTheHolesOfTheLastPeakInARow) {
  for (uint32_t i = 0; i < 10; ++i) {
    commit(kHeap + i * kPageBytes, kHeap + (i + 1) * kPageBytes);
    allocate(i, 1000, kHeap + i * kPageBytes, 1024);
  }
  free(3);
  EXPECT_EQ(metrics().committed_bytes_peak.at, 10u);
  EXPECT_EQ(metrics().holes_at_committed_peak.count, 9u);
  EXPECT_EQ(metrics().holes_at_committed_peak.bytes, 9 * 3 * 1024u);
}

// The next event takes memory, too, but less than this one gave back.
TEST_F(Analysis, RemembersTheHolesOfAPeakThatTheNextEventDoesNotReach) {
  commit(kHeap, kHeap + 8 * kPageBytes);
  decommit(kHeap + 4 * kPageBytes, kHeap + 8 * kPageBytes);
  allocate(0, 1000, kHeap + kPageBytes, 1024);
  commit(kHeap + 4 * kPageBytes, kHeap + 5 * kPageBytes);
  allocate(1, 1000, kHeap + 3 * kPageBytes, 1024);
  EXPECT_EQ(metrics().committed_bytes_peak.at, 1u);
  EXPECT_EQ(metrics().holes_at_committed_peak.count, 1u);
  EXPECT_EQ(metrics().holes_at_committed_peak.bytes, kPageBytes);
}

// What the next event takes it holds already.
TEST_F(Analysis, RemembersTheHolesOfAPeakThatIsTakenTwice) {
  commit(kHeap, kHeap + 2 * kPageBytes);
  allocate(0, 1000, kHeap + kPageBytes, 1024);
  commit(kHeap, kHeap + kPageBytes);
  allocate(1, 1000, kHeap, 1024);
  EXPECT_EQ(metrics().committed_bytes_peak.at, 1u);
  EXPECT_EQ(metrics().holes_at_committed_peak.bytes, kPageBytes);
}

// A block's memory may go with it: its last page is returned in the event that frees it.
TEST_F(Analysis, TakesABlockAwayBeforeItsMemoryGoes) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, 100, kHeap, 128);
  decommit(kHeap, kHeap + kPageBytes);
  free(0);
  EXPECT_EQ(metrics().end.committed_bytes, 0u);
  EXPECT_EQ(metrics().end.holes, HoleStats());
}

TEST_F(Analysis, PlacesABlockAfterItsMemoryCame) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, 100, kHeap + 1024, 128);
  EXPECT_EQ(metrics().end.holes.top_bytes, kPageBytes - 1024 - 128);
}

TEST_F(Analysis, MovesAMappingThatIsResized) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, kPageBytes, kHeap, kPageBytes);
  decommit(kHeap, kHeap + kPageBytes);
  commit(2 * kHeap, 2 * kHeap + 3 * kPageBytes);
  resize(0, 3 * kPageBytes, 2 * kHeap, 3 * kPageBytes);
  EXPECT_EQ(metrics().end.committed_bytes, 3 * kPageBytes);
  EXPECT_EQ(metrics().end.holes, HoleStats());
}

TEST_F(Analysis, TellsResizesInPlaceFromMoves) {
  allocate(0, 100, kHeap, 104);
  resize(0, 90, kHeap, 104);
  resize(0, 200, kHeap + 512, 208);
  resize(0, 60, kHeap + 1024, 64);
  EXPECT_EQ(metrics().resizes.in_place, 1u);
  EXPECT_EQ(metrics().resizes.moved, 2u);
  EXPECT_EQ(metrics().resizes.moved_bytes, 90u + 60u);
  EXPECT_EQ(metrics().end.usable_bytes, 64u);
}

TEST_F(Analysis, GrowsABlockInPlaceIntoTheHoleBehindIt) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, 16, kHeap, 16);
  allocate(1, 16, kHeap + 256, 16);
  resize(0, 128, kHeap, 128);
  EXPECT_EQ(metrics().end.holes.count, 1u);
  EXPECT_EQ(metrics().end.holes.bytes, 128u);
}

TEST_F(Analysis, CountsRefusedAllocationsApart) {
  allocate(0, 100, 0, 0);
  allocate(1, 100, kHeap, 104);
  EXPECT_EQ(metrics().accounting.refused, 1u);
  EXPECT_EQ(metrics().accounting.replayed, 1u);
  EXPECT_EQ(metrics().end.usable_bytes, 104u);
}

TEST_F(Analysis, FreesABlockThatWasRefusedWithoutHarm) {
  allocate(0, 100, 0, 0);
  free(0);
  EXPECT_EQ(metrics().accounting.replayed, 1u);
  EXPECT_EQ(metrics().end.usable_bytes, 0u);
}

TEST_F(Analysis, KeepsABlockWhoseResizeWasRefused) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, 100, kHeap, 104);
  resize(0, uint64_t{1} << 60, 0, 0);
  EXPECT_EQ(metrics().accounting.refused, 1u);
  EXPECT_EQ(metrics().end.usable_bytes, 104u);
  EXPECT_EQ(metrics().end.holes.top_bytes, kPageBytes - 112);
}

TEST_F(Analysis, TakesAResizeOfARefusedBlockForANewOne) {
  allocate(0, 100, 0, 0);
  resize(0, 50, kHeap, 56);
  EXPECT_EQ(metrics().resizes.in_place + metrics().resizes.moved, 0u);
  EXPECT_EQ(metrics().end.usable_bytes, 56u);
}

TEST_F(Analysis, CountsFreesOfNullAsReplayedAndSkippedEventsNot) {
  event(ReplayKind::kFreeNull, 0);
  event(ReplayKind::kNothing, 0);
  EXPECT_EQ(metrics().accounting.replayed, 1u);
  EXPECT_EQ(metrics().accounting.refused, 0u);
}

TEST_F(Analysis, NotesEachSampleOnTheTimeline) {
  allocate(0, 10, kHeap, 24);
  end_batch();
  analysis_.sample({5 * kPageBytes, std::nullopt});
  free(0);
  end_batch();
  analysis_.sample({2 * kPageBytes, std::nullopt});
  const RunMetrics run = analysis_.take_metrics();
  ASSERT_EQ(run.timeline.size(), 2u);
  EXPECT_EQ(run.timeline[0].at, 1u);
  EXPECT_EQ(run.timeline[0].usable_bytes, 24u);
  EXPECT_EQ(run.timeline[1].at, 2u);
  EXPECT_EQ(run.end.resident_bytes, 2 * kPageBytes);
  EXPECT_EQ(run.resident_bytes_peak.value, 5 * kPageBytes);
  EXPECT_EQ(run.resident_bytes_peak.at, 1u);
}

TEST_F(Analysis, TellsHolesOnRealPagesFromOthers) {
  commit(kHeap, kHeap + 8 * kPageBytes);
  allocate(0, 16, kHeap, 16);
  allocate(1, 16, kHeap + 4 * kPageBytes, 16);
  end_batch();
  const std::vector<AddressRange> absent = {{kHeap + kPageBytes, kHeap + 3 * kPageBytes}};
  analysis_.sample({6 * kPageBytes, absent});
  const Snapshot end = analysis_.take_metrics().end;
  EXPECT_EQ(end.holes.bytes, 4 * kPageBytes - 16);
  EXPECT_EQ(end.resident_hole_bytes, 2 * kPageBytes - 16);
}

TEST_F(Analysis, AddsUpTheTimeOfItsBatches) {
  result_.elapsed_ns = 30;
  end_batch();
  result_.elapsed_ns = 12;
  EXPECT_EQ(metrics().replay_ns, 42u);
}

TEST(AnalysisWithoutPlacements, OnlyCounts) {
  allocators::BackendTraits noop;
  noop.places_blocks = false;
  RunAnalysis analysis(noop, {});
  ResolvedBatch batch;
  batch.ops = {{ReplayKind::kMalloc, 0, 0, 0, 10},
               {ReplayKind::kRealloc, 0, 0, 0, 20},
               {ReplayKind::kFree, 0, 0, 0, 0}};
  batch.recorded_addresses = {kHeap, kHeap, 0};
  batch.live_bytes = {10, 20, 0};
  batch.slot_limit = 1;
  BatchResult result;
  result.placements.resize(3);
  ASSERT_TRUE(analysis.add(batch, result).ok());
  const RunMetrics run = analysis.take_metrics();
  EXPECT_EQ(run.accounting.replayed, 3u);
  EXPECT_EQ(run.accounting.refused, 0u);
  EXPECT_EQ(run.resizes.in_place, 0u);
}

class AnalysisOfGrowth : public Analysis {
 protected:
  AnalysisOfGrowth() { analysis_ = std::make_unique<RunAnalysis>(traits(), options()); }
  // Those of the run so far, which ends with this.
  std::vector<HeapGrowth> growths() {
    EXPECT_TRUE(analysis_->add(batch_, result_).ok());
    return analysis_->take_metrics().heap_growths;
  }
  // 20,000 bytes are asked for where there are blocks of 100, 232 and 40 bytes, with a hole of
  // 1,000 granules behind the first.
  HeapGrowth growth_beside_a_hole() {
    commit(kHeap, kHeap + 8 * kPageBytes);
    allocate(0, 100, kHeap + 16, 100);
    allocate(1, 232, kHeap + 16'128, 232);
    allocate(2, 40, kHeap + 32'000, 40);
    commit(kHeap + 8 * kPageBytes, kHeap + 16 * kPageBytes);
    allocate(3, 20'000, kHeap + 8 * kPageBytes, 20'000);
    return growths().at(1);
  }

 private:
  static allocators::BackendTraits traits() { return {}; }
  static RunAnalysis::Options options() { return {.heap_growths = 3}; }

 protected:
  std::unique_ptr<RunAnalysis> analysis_;
};

TEST_F(AnalysisOfGrowth, KnowsTheLargestHoleAndHowManyBytesItWasShort) {
  const HeapGrowth growth = growth_beside_a_hole();
  EXPECT_EQ(growth.event, 4u);
  EXPECT_EQ(growth.growth_bytes, 8 * kPageBytes);
  EXPECT_EQ(growth.largest_hole_bytes, 16'000u);
  EXPECT_EQ(growth.short_bytes(), 4'000u);
  EXPECT_FALSE(growth.is_own_mapping);
}

TEST_F(AnalysisOfGrowth, NamesThePinOnTheSideWithMoreFreeBytes) {
  const HeapGrowth growth = growth_beside_a_hole();
  ASSERT_TRUE(growth.pin);
  EXPECT_EQ(growth.pin->birth, 2u);
  EXPECT_EQ(growth.pin->requested_bytes, 232u);
}

// The block was refused, so a resize makes it; who had its slot before is of no concern.
TEST_F(AnalysisOfGrowth, NamesThePinByTheResizeThatPlacedIt) {
  commit(kHeap, kHeap + 8 * kPageBytes);
  allocate(0, 100, kHeap + 16, 100);
  free(0);
  allocate(0, 232, 0, 0);
  resize(0, 232, kHeap + 16'128, 232);
  commit(kHeap + 8 * kPageBytes, kHeap + 16 * kPageBytes);
  allocate(1, 20'000, kHeap + 8 * kPageBytes, 20'000);
  const HeapGrowth growth = growths().at(1);
  ASSERT_TRUE(growth.pin);
  EXPECT_EQ(growth.pin->birth, 4u);
}

// What a region begins with is the allocator's own, and would not be free with the block behind it.
TEST_F(AnalysisOfGrowth, DoesNotTakeTheBeginningOfARegionForFree) {
  commit(kHeap, kHeap + 8 * kPageBytes);
  allocate(0, 100, kHeap + 2'000, 100);
  allocate(1, 232, kHeap + 16'128, 232);
  allocate(2, 40, kHeap + 17'376, 40);
  commit(kHeap + 8 * kPageBytes, kHeap + 16 * kPageBytes);
  allocate(3, 20'000, kHeap + 8 * kPageBytes, 20'000);
  const HeapGrowth growth = growths().at(1);
  ASSERT_TRUE(growth.pin);
  EXPECT_EQ(growth.pin->birth, 2u);
}

TEST_F(AnalysisOfGrowth, HasNoPinWhereTheHoleWasFarTooSmall) {
  commit(kHeap, kHeap + 8 * kPageBytes);
  allocate(0, 100, kHeap + 16, 100);
  allocate(1, 232, kHeap + 16'128, 232);
  commit(kHeap + 8 * kPageBytes, kHeap + 40 * kPageBytes);
  allocate(2, 100'000, kHeap + 8 * kPageBytes, 100'000);
  EXPECT_FALSE(growths().at(0).pin);
}

TEST_F(AnalysisOfGrowth, TellsAMappingOfItsOwn) {
  commit(kHeap, kHeap + 5 * kPageBytes);
  allocate(0, 20'000, kHeap + 16, 20'464);
  EXPECT_TRUE(growths().at(0).is_own_mapping);
}

TEST_F(AnalysisOfGrowth, CountsOnlyWhatIsAboveThePeak) {
  commit(kHeap, kHeap + 8 * kPageBytes);
  allocate(0, 100, kHeap + 16, 100);
  decommit(kHeap + 4 * kPageBytes, kHeap + 8 * kPageBytes);
  free(0);
  commit(kHeap + 4 * kPageBytes, kHeap + 9 * kPageBytes);
  allocate(1, 100, kHeap + 16, 100);
  const auto all = growths();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].growth_bytes, kPageBytes);
}

// A cache may need room for what is freed.
TEST_F(AnalysisOfGrowth, ByAFreeAsksForNothing) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, 100, kHeap + 16, 100);
  commit(kHeap + kPageBytes, kHeap + 4 * kPageBytes);
  free(0);
  const HeapGrowth growth = growths().at(0);
  EXPECT_EQ(growth.event, 2u);
  EXPECT_EQ(growth.request_bytes, 0u);
}

TEST_F(AnalysisOfGrowth, HasTheRuleOfItsOwnCallAmongThoseOfABatch) {
  commit(kHeap, kHeap + 8 * kPageBytes, {"by the rule of %", {1}});
  allocate(0, 100, kHeap + 16, 100);
  commit(kHeap + 8 * kPageBytes, kHeap + 10 * kPageBytes);
  allocate(1, 100, kHeap + 8 * kPageBytes, 100);
  commit(kHeap + 10 * kPageBytes, kHeap + 11 * kPageBytes, {"by the rule of %", {3}});
  allocate(2, 100, kHeap + 10 * kPageBytes, 100);
  std::vector<std::string> rules;
  for (const HeapGrowth& growth : growths()) rules.push_back(growth.rule);
  EXPECT_EQ(rules, (std::vector<std::string>{"by the rule of 1", "", "by the rule of 3"}));
}

TEST_F(AnalysisOfGrowth, HasTheRulesOfAllThatItsCallCommitted) {
  commit(kHeap, kHeap + kPageBytes, {"one"});
  commit(kHeap + kPageBytes, kHeap + 2 * kPageBytes);
  commit(kHeap + 2 * kPageBytes, kHeap + 3 * kPageBytes, {"other"});
  allocate(0, 100, kHeap + 16, 100);
  EXPECT_EQ(growths().at(0).rule, "one; other");
}

TEST_F(AnalysisOfGrowth, TellsWhenItWasGivenBack) {
  commit(kHeap, kHeap + 8 * kPageBytes);
  allocate(0, 100, kHeap + 16, 100);
  decommit(kHeap, kHeap + 8 * kPageBytes);
  free(0);
  EXPECT_EQ(growths().at(0).given_back_at, 2u);
}

// The account after the events so far.
const Account& account_now(RunAnalysis& analysis, RunMetrics& metrics) {
  const Moment moments[] = {{.name = "end"}};
  analysis.look(moments, {0, std::nullopt}, {});
  metrics = analysis.take_metrics();
  return *metrics.moments.front().account;
}

TEST_F(Analysis, HasUnseenMemoryInItsAccount) {
  commit_unseen(kHeap, kHeap + 4 * kPageBytes);
  allocate(0, 90, kHeap + kPageBytes, 96);
  allocate(1, 90, kHeap + kPageBytes + 96, 96);
  resize(1, 180, kHeap + kPageBytes + 96, 192);
  free(0);
  end_batch();
  RunMetrics metrics;
  const Account& account = account_now(analysis_, metrics);
  ASSERT_TRUE(account.late);
  EXPECT_EQ(account.late->unseen_bytes, 4 * kPageBytes - 96 - 192);
  EXPECT_EQ(account.hole_bytes, 96u) << "handed out, and given back";
  EXPECT_EQ(account.late->open_holes, 1u);
  EXPECT_EQ(account.top_bytes, 0u);
  EXPECT_EQ(account.unexplained_bytes, 0);
}

TEST_F(Analysis, HasNoUnseenMemoryWhereAllOfItIsNew) {
  commit(kHeap, kHeap + kPageBytes);
  allocate(0, 90, kHeap, 96);
  end_batch();
  RunMetrics metrics;
  EXPECT_FALSE(account_now(analysis_, metrics).late);
  EXPECT_FALSE(analysis_.picture({0, std::nullopt}).unseen);
}

TEST_F(Analysis, GivesUnseenMemoryBackWithItsPages) {
  commit_unseen(kHeap, kHeap + 4 * kPageBytes);
  allocate(0, 90, kHeap, 96);
  decommit(kHeap + kPageBytes, kHeap + 4 * kPageBytes);
  commit(kHeap + kPageBytes, kHeap + 2 * kPageBytes);
  allocate(1, 90, kHeap + 96, 96);
  end_batch();
  RunMetrics metrics;
  const Account& account = account_now(analysis_, metrics);
  EXPECT_EQ(account.late->unseen_bytes, kPageBytes - 192);
  EXPECT_EQ(account.top_bytes, kPageBytes);
}

}  // namespace
}  // namespace heaptape::replayer
