// What is made of a recorded run: where its blocks were, and what the collector saw of its memory.
#include "allocators/recorded/recorded_backend.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/address/pages.h"
#include "tests/support/range_set.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;

constexpr uint64_t kRecordedBreak = 0x555555559000;
constexpr uint64_t kMapped = 0x7ffff7000010;  // the block of a chunk with a mapping of its own
constexpr uint64_t kArena = 0x7ffff0000000;   // of a thread

schema::TapeHeader header_of(const std::string& allocator) {
  schema::TapeHeader header = tests::sample_header();
  header.allocator = allocator;
  header.initial_break = kRecordedBreak;
  return header;
}

class RecordedRun : public testing::Test {
 protected:
  void op(ReplayKind kind, uint32_t slot, uint64_t size = 0, uint64_t address = 0) {
    ops_.push_back({kind, 0, 0, slot, size});
    addresses_.push_back(address);
  }
  void malloc(uint32_t slot, uint64_t size, uint64_t address) {
    op(ReplayKind::kMalloc, slot, size, address);
  }
  void free(uint32_t slot) { op(ReplayKind::kFree, slot); }
  // Seen after the ops so far.
  void sample(std::vector<AddressRange> regions, uint64_t resident_bytes = 0,
              std::optional<uint64_t> malloc_bytes = {}) {
    samples_.push_back(
        {done_ + ops_.size(), 0, resident_bytes, std::move(regions), {malloc_bytes, 0, 0, 0}});
  }
  // Replays the ops and samples so far as one batch.
  BatchResult run() {
    BatchResult result;
    EXPECT_TRUE(backend_.submit({done_, 100, ops_, addresses_, samples_}).ok());
    EXPECT_TRUE(backend_.collect(result).ok());
    done_ += ops_.size();
    ops_.clear();
    addresses_.clear();
    samples_.clear();
    for (const RegionEvent& event : result.regions) apply(event);
    return result;
  }
  uint64_t usable(uint64_t size, uint64_t address) {
    malloc(0, size, address);
    return run().placements[0].usable_bytes;
  }
  uint64_t committed() const { return committed_.total_bytes(); }
  bool is_committed(uint64_t begin, uint64_t end) const {
    return committed_.contains({begin, end});
  }
  void apply(const RegionEvent& event) {
    tests::RangeSet page_by_page;
    for (uint64_t at = event.range.begin; at < event.range.end; at += kPageBytes) {
      const AddressRange page{at, at + kPageBytes};
      if (event.kind == RegionEvent::Kind::kCommit) {
        committed_.add(page);
      } else {
        committed_.remove(page);
      }
    }
  }

  RecordedBackend backend_{header_of("/lib/x86_64-linux-gnu/libc.so.6")};
  std::vector<ReplayOp> ops_;
  std::vector<uint64_t> addresses_;
  std::vector<schema::ProcessSample> samples_;
  tests::RangeSet committed_;
  uint64_t done_ = 0;
};

TEST_F(RecordedRun, PutsBlocksWhereTheTapeHasThem) {
  malloc(0, 100, kRecordedBreak + 0x2a0);
  free(0);
  const BatchResult result = run();
  EXPECT_EQ(result.placements[0].address, kRecordedBreak + 0x2a0);
  EXPECT_EQ(result.placements[1].address, 0u);
}

TEST_F(RecordedRun, RoundsSizesAsGlibcRoundsItsChunks) {
  EXPECT_EQ(usable(0, kRecordedBreak + 0x2a0), 24u);
  EXPECT_EQ(usable(24, kRecordedBreak + 0x2a0), 24u);
  EXPECT_EQ(usable(25, kRecordedBreak + 0x2a0), 40u);
  EXPECT_EQ(usable(1000, kRecordedBreak + 0x2a0), 1000u);
  EXPECT_EQ(usable(1001, kRecordedBreak + 0x2a0), 1016u);
}

TEST_F(RecordedRun, GivesAChunkWithItsOwnMappingTheRestOfItsLastPage) {
  EXPECT_EQ(usable(200000, kMapped), 49 * kPageBytes - 16);
  EXPECT_EQ(usable((128 << 10), kMapped + 64 * kPageBytes), 33 * kPageBytes - 16);
}

// One large block in 256 begins like that in the heap too, once freed mappings have raised glibc's
// threshold.
TEST_F(RecordedRun, TakesNoBlockOfTheHeapForAMapping) {
  EXPECT_EQ(usable(200000, kRecordedBreak + 0x5010), 200008u);
  free(0);
  run();
  EXPECT_TRUE(is_committed(kRecordedBreak + 0x5000, kRecordedBreak + 0x5000 + 49 * kPageBytes));
}

TEST_F(RecordedRun, TakesNoBlockOfAnArenaForAMapping) {
  malloc(1, 100, kArena + 0x8d0);
  sample({{kArena, kArena + 256 * kPageBytes}});
  run();
  EXPECT_EQ(usable(200000, kArena + 16 * kPageBytes + 16), 200008u);
  EXPECT_EQ(usable(200000, kArena + 256 * kPageBytes + 16), 200008u) << "where the arena grows";
  free(0);
  run();
  EXPECT_EQ(committed(), (256 + 49) * kPageBytes);
}

TEST_F(RecordedRun, CommitsAMappedChunkWhileItLives) {
  malloc(0, 200000, kMapped);
  run();
  EXPECT_EQ(committed(), 49 * kPageBytes);
  free(0);
  run();
  EXPECT_EQ(committed(), 0u);
}

TEST_F(RecordedRun, MovesTheMappingOfAChunkThatIsResized) {
  malloc(0, 200000, kMapped);
  op(ReplayKind::kRealloc, 0, 400000, kMapped + 512 * kPageBytes);
  run();
  EXPECT_EQ(committed(), 98 * kPageBytes);
  op(ReplayKind::kRealloc, 0, 300000, kMapped + 512 * kPageBytes);
  run();
  EXPECT_EQ(committed(), 74 * kPageBytes);
}

TEST_F(RecordedRun, KeepsMappedChunksThatASampleMissed) {
  malloc(0, 200000, kMapped);
  sample({{kRecordedBreak, kRecordedBreak + 33 * kPageBytes}});
  run();
  EXPECT_EQ(committed(), 49 * kPageBytes + 33 * kPageBytes);
}

TEST_F(RecordedRun, CommitsWhatASampleSawAndDecommitsTheRest) {
  malloc(0, 100, kRecordedBreak + 0x2a0);
  sample({{kRecordedBreak, kRecordedBreak + 33 * kPageBytes}});
  run();
  EXPECT_EQ(committed(), 33 * kPageBytes);
  malloc(1, 100, kRecordedBreak + 0x400);
  sample({{kRecordedBreak, kRecordedBreak + 20 * kPageBytes}});
  run();
  EXPECT_EQ(committed(), 20 * kPageBytes);
}

TEST_F(RecordedRun, CoversBlocksPlacedOutsideOfTheSamples) {
  malloc(0, 100, kRecordedBreak + 0x2a0);
  malloc(1, 5000, kRecordedBreak + 0x10ff0);
  run();
  EXPECT_TRUE(is_committed(kRecordedBreak, kRecordedBreak + kPageBytes));
  EXPECT_TRUE(is_committed(kRecordedBreak + 0x10000, kRecordedBreak + 0x13000));
  EXPECT_EQ(committed(), 4 * kPageBytes);
}

TEST_F(RecordedRun, AppliesASampleInTheEventThatItFollows) {
  malloc(0, 100, kRecordedBreak + 0x2a0);
  malloc(1, 100, kRecordedBreak + 0x400);
  sample({{kRecordedBreak, kRecordedBreak + 33 * kPageBytes}});
  malloc(2, 100, kRecordedBreak + 0x500);
  const BatchResult result = run();
  ASSERT_FALSE(result.regions.empty());
  EXPECT_EQ(result.regions.back().op, 1u);
}

TEST_F(RecordedRun, AppliesASampleAtTheEndOfABatchInTheSameEvent) {
  malloc(0, 100, kRecordedBreak + 0x2a0);
  malloc(1, 100, kRecordedBreak + 0x400);
  sample({{kRecordedBreak, kRecordedBreak + 33 * kPageBytes}});
  const BatchResult result = run();
  ASSERT_FALSE(result.regions.empty());
  EXPECT_EQ(result.regions.back().op, 1u);
}

TEST_F(RecordedRun, TakesASampleOfAProcessThatMadeNoCall) {
  sample({}, 5 * kPageBytes);
  run();
  EXPECT_EQ(backend_.residency({})->resident_bytes, 5 * kPageBytes);
}

TEST_F(RecordedRun, ReportsTheResidentBytesOfTheLastSample) {
  malloc(0, 100, kRecordedBreak + 0x2a0);
  sample({}, 30 * kPageBytes);
  sample({}, 12 * kPageBytes);
  run();
  EXPECT_EQ(backend_.residency({})->resident_bytes, 12 * kPageBytes);
  EXPECT_FALSE(backend_.residency({})->absent.has_value());
  EXPECT_EQ(backend_.counters()[0].name, "processSamples");
  EXPECT_EQ(backend_.counters()[0].value, 2u);
}

TEST(RecordedRunOfAnotherAllocator, TakesRequestedSizesForUsableOnes) {
  RecordedBackend backend(header_of("/usr/lib/libjemalloc.so.2"));
  const ReplayOp ops[] = {{ReplayKind::kMalloc, 0, 0, 0, 200000},
                          {ReplayKind::kMalloc, 0, 0, 1, 0}};
  const uint64_t addresses[] = {kMapped, kRecordedBreak + 8};
  BatchResult result;
  EXPECT_TRUE(backend.submit({0, 2, ops, addresses, {}}).ok());
  EXPECT_TRUE(backend.collect(result).ok());
  EXPECT_EQ(result.placements[0].usable_bytes, 200000u);
  EXPECT_EQ(result.placements[1].usable_bytes, 1u);
  EXPECT_EQ(backend.traits().granule_log2, 3);
}

TEST(ImportedRun, IsRefusedWhereItsTraceHasNoAddresses) {
  schema::TapeHeader header;
  header.origin = {"malloclab", static_cast<uint32_t>(schema::Absent::kAddresses)};
  const auto started = RecordedBackend(header).start();
  EXPECT_EQ(started.error().code, base::ErrorCode::kUsage);
  header.origin = {"mtrace", static_cast<uint32_t>(schema::Absent::kTimes)};
  EXPECT_TRUE(RecordedBackend(header).start().ok());
}

// Of a recording that began later than its program.
class LateRun : public RecordedRun {
 protected:
  void begin(const std::string& allocator = "/lib/x86_64-linux-gnu/libc.so.6") {
    backend_ = RecordedBackend(header_of(allocator), RecordedBackend::Began::kLate);
  }
  // What the ops and samples so far commit as unseen.
  std::vector<AddressRange> run_for_unseen() {
    std::vector<AddressRange> unseen;
    for (const RegionEvent& event : run().regions) {
      if (event.is_unseen) unseen.push_back(event.range);
    }
    base::sort_and_join(unseen);
    return unseen;
  }
  static AddressRange pages(uint64_t begin, uint64_t count) {
    return {begin, begin + count * kPageBytes};
  }
};

TEST_F(LateRun, HasNotSeenWhatItsFirstSampleShows) {
  begin();
  sample({pages(kRecordedBreak, 33)});
  EXPECT_EQ(run_for_unseen(), std::vector({pages(kRecordedBreak, 33)}));
}

TEST_F(LateRun, HasNotSeenThePagesOfBlocksBeforeThat) {
  begin();
  malloc(0, 100, kRecordedBreak + 0x2a0);
  EXPECT_EQ(run_for_unseen(), std::vector({pages(kRecordedBreak, 1)}));
  free(0);
  sample({pages(kRecordedBreak, 33)});
  EXPECT_EQ(run_for_unseen(), std::vector({pages(kRecordedBreak + kPageBytes, 32)}))
      << "the block's page may have been seen in part";
}

TEST_F(LateRun, PassesOverSamplesWithoutRegions) {
  begin();
  sample({});
  malloc(0, 100, kRecordedBreak + 0x2a0);
  sample({pages(kRecordedBreak, 33)});
  EXPECT_EQ(run_for_unseen(), std::vector({pages(kRecordedBreak, 33)}));
}

TEST_F(LateRun, SeesAllOfWhatTheHeapGrowsBy) {
  begin();
  sample({pages(kRecordedBreak, 33)});
  run();
  malloc(0, 100, kRecordedBreak + 33 * kPageBytes + 16);
  sample({pages(kRecordedBreak, 66)});
  EXPECT_TRUE(run_for_unseen().empty());
  EXPECT_EQ(committed(), 66 * kPageBytes);
}

TEST_F(LateRun, SeesAllOfAnArenaThatGlibcMakesLater) {
  begin();
  sample({pages(kRecordedBreak, 33)});
  run();
  malloc(0, 100, kArena + 0x8d0);
  sample({pages(kRecordedBreak, 33), pages(kArena, 33)});
  EXPECT_TRUE(run_for_unseen().empty());
}

// One in use to its end does not look like an arena's until a recorded block lives there.
TEST_F(LateRun, HasNotSeenALargeHeapOfAnArenaThatAppearsLater) {
  begin();
  sample({pages(kRecordedBreak, 33)});
  run();
  malloc(0, 100, kArena + 0x8d0);
  sample({pages(kRecordedBreak, 33), pages(kArena, 16384)});
  EXPECT_EQ(run_for_unseen(), std::vector({pages(kArena + kPageBytes, 16383)}));
}

TEST_F(LateRun, SeesAllOfAChunkWithItsOwnMapping) {
  begin();
  malloc(0, 200000, kMapped);
  EXPECT_TRUE(run_for_unseen().empty());
}

TEST_F(LateRun, HasNotSeenMappingsOfOtherAllocatorsThatAppearLater) {
  begin("/usr/lib/libjemalloc.so.2");
  sample({pages(kArena, 16)});
  run();
  sample({pages(kArena, 32), pages(kMapped - 16, 16)});
  EXPECT_EQ(run_for_unseen(), std::vector({pages(kMapped - 16, 16)})) << "the other one grew";
  malloc(0, 100, kArena + 64 * kPageBytes);
  EXPECT_EQ(run_for_unseen(), std::vector({pages(kArena + 64 * kPageBytes, 1)}));
}

TEST_F(RecordedRun, HasSeenEverythingThatBeganWithItsProgram) {
  malloc(0, 100, kRecordedBreak + 0x2a0);
  sample({{kRecordedBreak, kRecordedBreak + 33 * kPageBytes}});
  for (const RegionEvent& event : run().regions) EXPECT_FALSE(event.is_unseen);
}

TEST_F(RecordedRun, HasMallocsPartResidentOnceThatIsKnown) {
  sample({}, 12 * kPageBytes);
  run();
  EXPECT_EQ(backend_.residency({})->resident_bytes, 12 * kPageBytes);
  sample({}, 12 * kPageBytes, 3 * kPageBytes);
  run();
  EXPECT_EQ(backend_.residency({})->resident_bytes, 3 * kPageBytes);
  sample({}, 12 * kPageBytes);  // the process was gone before its pages were looked at
  run();
  EXPECT_EQ(backend_.residency({})->resident_bytes, 3 * kPageBytes);
}

}  // namespace
}  // namespace heaptape::allocators
