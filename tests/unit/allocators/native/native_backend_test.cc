// Real allocators in their worker process, driven batch by batch.
#include "allocators/native/native_backend.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "allocators/native/resident_pages.h"
#include "base/address/region_set.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::allocators {
namespace {

constexpr char kFixedThreshold[] = "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072";

NativeOptions options_for(const std::string& library) {
  NativeOptions options;
  options.name = "test";
  options.library = library;
  return options;
}

NativeOptions target_library(const std::string& name) {
  return options_for(tests::target_path(name));
}

std::string start_error(const NativeOptions& options) {
  NativeBackend backend(options);
  const auto started = backend.start();
  EXPECT_FALSE(started.ok());
  return started.ok() ? "" : started.error().message;
}

// `count` blocks, each freed at once.
std::vector<ReplayOp> pairs(size_t count, uint64_t size) {
  std::vector<ReplayOp> ops;
  for (size_t i = 0; i < count; ++i) {
    ops.push_back({ReplayKind::kMalloc, 0, 0, 0, size});
    ops.push_back({ReplayKind::kFree, 0, 0, 0, 0});
  }
  return ops;
}

std::vector<ReplayOp> mallocs(uint32_t count, uint64_t size) {
  std::vector<ReplayOp> ops;
  for (uint32_t slot = 0; slot < count; ++slot) {
    ops.push_back({ReplayKind::kMalloc, 0, 0, slot, size});
  }
  return ops;
}

class Native : public testing::Test {
 protected:
  void start(const NativeOptions& options) {
    backend_ = std::make_unique<NativeBackend>(options);
    auto started = backend_->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    before_ = std::move(*started);
  }
  base::Status try_run(const std::vector<ReplayOp>& ops, BatchResult& result) {
    const std::vector<uint64_t> recorded(ops.size());
    HEAPTAPE_RETURN_IF_ERROR(
        backend_->submit({0, static_cast<uint32_t>(ops.size()), ops, recorded, {}}));
    return backend_->collect(result);
  }
  BatchResult run(const std::vector<ReplayOp>& ops) {
    BatchResult result;
    const auto status = try_run(ops, result);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return result;
  }
  Placement run_one(ReplayKind kind, uint64_t size, uint8_t alignment_log2 = 0) {
    return run({{kind, alignment_log2, 0, 0, size}}).placements.at(0);
  }

  uint64_t counter(const std::string& name) {
    for (const Counter& counter : backend_->counters()) {
      if (counter.name == name) return counter.value;
    }
    return UINT64_MAX;
  }

  std::unique_ptr<NativeBackend> backend_;
  std::vector<RegionEvent> before_;
};

TEST_F(Native, BeginsWithAnEmptyHeap) {
  const std::string reason = tests::not_glibc_2_36();
  if (!reason.empty()) GTEST_SKIP() << reason;
  start(options_for(""));
  EXPECT_TRUE(before_.empty());
  // 16 bytes of header, 0x280 of the thread's cache with its own header, and the block's header.
  EXPECT_EQ(run_one(ReplayKind::kMalloc, 24).address - backend_->traits().initial_break, 0x2a0u);
}

TEST_F(Native, PlacesBlocksInTheSamePlacesEveryTime) {
  start(options_for(""));
  const BatchResult first = run(mallocs(1000, 50));
  start(options_for(""));
  EXPECT_EQ(run(mallocs(1000, 50)).placements, first.placements);
}

TEST_F(Native, MovesNoBlockByAskingForStatistics) {
  std::vector<const char*> libraries = {"libjemalloc.so.2", "libtcmalloc_minimal.so.4"};
  if (tests::mimalloc_3().empty()) libraries.push_back(tests::mimalloc_library());
  for (const char* library : libraries) {
    std::vector<uint64_t> offsets[2];
    for (const bool asks : {false, true}) {
      start(options_for(library));
      const uint64_t first = run_one(ReplayKind::kMalloc, 10).address;  // mimalloc's is random
      for (int batch = 0; batch < 3; ++batch) {
        const auto placed = run(pairs(3000, 700 << batch)).placements;
        for (const Placement& placement : placed) {
          offsets[asks].push_back(placement.address == 0 ? 0 : placement.address - first);
        }
        if (asks) {
          EXPECT_GT(backend_->counters().size(), 2u) << library;
        }
      }
    }
    EXPECT_EQ(offsets[0], offsets[1]) << library;
  }
  if (const std::string why = tests::mimalloc_3(); !why.empty()) GTEST_SKIP() << why;
}

TEST_F(Native, HasTheAllocatorsOwnStatistics) {
  const std::pair<const char*, const char*> counters[] = {
      {"libjemalloc.so.2", "jemallocAllocatedBytes"},
      {tests::mimalloc_library(), "mimallocCommittedBytes"},
      {"libtcmalloc_minimal.so.4", "tcmallocAllocatedBytes"}};
  for (const auto& [library, name] : counters) {
    start(options_for(library));
    run(mallocs(1000, 10000));
    EXPECT_GE(counter(name), 10000 * 1000u) << library;
    EXPECT_LT(counter(name), 40000 * 1000u) << library;
  }
}

TEST_F(Native, HasAllThatTcmallocKeepsForReuse) {
  start(options_for("libtcmalloc_minimal.so.4"));
  std::vector<ReplayOp> ops = mallocs(50000, 64);
  for (uint32_t slot = 0; slot < 50000; ++slot) ops.push_back({ReplayKind::kFree, 0, 0, slot, 0});
  run(ops);
  const auto own = backend_->own_statistics();
  ASSERT_TRUE(own.ok());
  const uint64_t central = counter("tcmallocCentralCacheFreeBytes");
  EXPECT_GT(central, 0u);
  EXPECT_EQ(own->cached_bytes, central + counter("tcmallocTransferCacheFreeBytes") +
                                   counter("tcmallocThreadCacheFreeBytes"));
}

TEST_F(Native, TellsWhatMimallocHasCommittedFromWhatItHadAtMost) {
  if (!tests::mimalloc_3().empty()) GTEST_SKIP() << "mimalloc 3 keeps its arena committed";
  start(options_for(tests::mimalloc_library()));
  std::vector<ReplayOp> ops = mallocs(1600, 50000);
  for (uint32_t slot = 0; slot < 1600; ++slot) ops.push_back({ReplayKind::kFree, 0, 0, slot, 0});
  run(ops);
  EXPECT_TRUE(backend_->give_back_memory().ok());
  EXPECT_LT(counter("mimallocCommittedBytes"), counter("mimallocPeakCommittedBytes") / 2);
}

// jemalloc's are those of the moment when it was last told to take new ones.
TEST_F(Native, AsksForStatisticsOfNowEachTime) {
  start(options_for("libjemalloc.so.2"));
  run(mallocs(10, 10000));
  EXPECT_LT(counter("jemallocAllocatedBytes"), 1'000'000u);
  run(mallocs(1000, 10000));
  EXPECT_GE(counter("jemallocAllocatedBytes"), 10'000'000u);
}

TEST_F(Native, TakesBatchesLongerThanItsSharedMemory) {
  start(options_for(""));
  const BatchResult result = run(mallocs(2 * kMaxBatchOps + 100, 24));
  ASSERT_EQ(result.placements.size(), 2 * kMaxBatchOps + 100);
  for (size_t i = 1; i < result.placements.size(); ++i) {
    ASSERT_EQ(result.placements[i].address, result.placements[i - 1].address + 32) << i;
  }
}

TEST_F(Native, NumbersTimedCallsBeyondItsSharedMemory) {
  start(options_for(""));
  std::vector<ReplayOp> ops(kMaxBatchOps, {ReplayKind::kFreeNull, 0, 0, 0, 0});
  for (const ReplayOp& op : mallocs(kLatencyPeriod, 24)) ops.push_back(op);
  run(ops);
  for (const LatencySummary& latency : backend_->latencies()) {
    if (latency.kind != ReplayKind::kMalloc) continue;
    EXPECT_EQ(latency.samples, 1u);
    EXPECT_EQ(latency.max_event, (kMaxBatchOps / kLatencyPeriod + 1) * kLatencyPeriod);
  }
}

TEST_F(Native, DoesNotMindHowOpsAreCutIntoBatches) {
  std::vector<ReplayOp> ops = mallocs(3000, 100000);
  start(options_for(""));
  const BatchResult whole = run(ops);
  start(options_for(""));
  std::vector<Placement> placements;
  for (size_t at = 0; at < ops.size(); at += 777) {
    const auto end = std::min(ops.size(), at + 777);
    const BatchResult part =
        run({ops.begin() + static_cast<ptrdiff_t>(at), ops.begin() + static_cast<ptrdiff_t>(end)});
    placements.insert(placements.end(), part.placements.begin(), part.placements.end());
  }
  EXPECT_EQ(placements, whole.placements);
}

// Five times what the log of memory calls holds.
TEST_F(Native, LosesNoMemoryCallWhenABatchMakesMoreThanFitTheLog) {
  NativeOptions options = options_for("");
  options.environment = {kFixedThreshold};
  start(options);
  run_one(ReplayKind::kMalloc, 10);  // the heap itself
  const BatchResult result = run(pairs(10000, 200000));
  ASSERT_EQ(result.placements.size(), 20000u);
  ASSERT_EQ(result.regions.size(), 20000u);
  for (uint32_t i = 0; i < result.regions.size(); ++i) {
    const auto kind = i % 2 == 0 ? RegionEvent::Kind::kCommit : RegionEvent::Kind::kDecommit;
    ASSERT_EQ(result.regions[i].op, i);
    ASSERT_EQ(result.regions[i].kind, kind);
  }
}

TEST_F(Native, AgreesWithMallinfoAboutItsMemory) {
  NativeOptions options = options_for("");
  options.environment = {kFixedThreshold};
  start(options);
  run(mallocs(3, 1000));
  EXPECT_TRUE(backend_->residency({}).ok());
  run(mallocs(100, 200000));
  EXPECT_TRUE(backend_->residency({}).ok());
  EXPECT_EQ(counter("mallinfoSamples"), 3u);  // two, and the last word
  EXPECT_EQ(counter("mallinfoLargestDifference"), 0u);
}

// As the kernel does when memory runs out.
TEST_F(Native, FailsByItselfWhenItsWorkerIsKilledBetweenTwoBatches) {
  start(target_library("libreplay_bare_malloc.so"));  // without mallinfo2, so only /proc is asked
  run(mallocs(3, 100));
  int worker = 0;
  std::ifstream("/proc/thread-self/children") >> worker;
  ASSERT_GT(worker, 0);
  ASSERT_EQ(kill(worker, SIGKILL), 0);
  const AddressRange page{0x1000, 0x2000};
  for (;;) {
    const auto residency = backend_->residency({&page, 1});
    if (residency.ok()) continue;  // it dies a little later
    EXPECT_EQ(residency.error().code, base::ErrorCode::kTarget);
    EXPECT_NE(residency.error().message.find("killed by signal 9"), std::string::npos);
    EXPECT_EQ(residency.error().event, 3u);
    return;
  }
}

TEST_F(Native, RefusesWhatTheAllocatorRefuses) {
  start(options_for(""));
  EXPECT_EQ(run_one(ReplayKind::kMalloc, UINT64_MAX).address, 0u);
  EXPECT_EQ(run_one(ReplayKind::kPvalloc, UINT64_MAX).address, 0u);
  EXPECT_EQ(run_one(ReplayKind::kMemalign, 100, 47).address, 0u);
}

TEST_F(Native, CountsMemoryThatALibraryTakesWhenItIsLoaded) {
  start(target_library("libreplay_eager_malloc.so"));
  uint64_t committed = 0;
  for (const RegionEvent& event : before_) {
    EXPECT_EQ(event.op, 0u);
    committed += event.range.bytes();
  }
  EXPECT_GE(committed, uint64_t{64} << 20);
}

TEST_F(Native, OutlivesAThreadOfTheLibrary) {
  start(target_library("libreplay_ending_malloc.so"));
  EXPECT_EQ(run(mallocs(100, 24)).placements.size(), 100u);
}

// A heap with holes, and what of it is resident.
class NativeResidency : public Native {
 protected:
  static constexpr uint32_t kBlocks = 10'000;
  static constexpr uint64_t kBlockBytes = 8000;

  // Blocks between holes, each of which has a page to give back.
  void make_holes() {
    note(before_);
    note(run(mallocs(kBlocks, kBlockBytes)).regions);
    look();
    std::vector<ReplayOp> ops;
    for (uint32_t slot = 0; slot < kBlocks; slot += 2) {
      ops.push_back({ReplayKind::kFree, 0, 0, slot, 0});
    }
    run(ops);
    look();
  }
  void note(const std::vector<RegionEvent>& events) {
    for (const RegionEvent& event : events) {
      if (event.kind == RegionEvent::Kind::kCommit) {
        regions_.add(event.range);
      } else {
        regions_.remove(event.range);
      }
    }
  }
  uint64_t look() { return backend_->residency(regions_.ranges())->resident_bytes; }
  // As who remembers nothing sees it.
  uint64_t first_look() {
    int worker = 0;
    std::ifstream("/proc/thread-self/children") >> worker;
    return ResidentPages(worker).look(regions_.ranges())->resident_bytes;
  }

 private:
  base::RegionSet regions_;
};

// More than the worker's log has room for.
TEST_F(NativeResidency, IsThatOfAFirstLookAfterThousandsOfPiecesWereGivenBack) {
  start(options_for(""));
  make_holes();
  const uint64_t before = look();
  EXPECT_EQ(before, first_look());
  const auto given_back = backend_->give_back_memory();
  ASSERT_TRUE(given_back.ok() && *given_back);
  const uint64_t expected = kBlocks / 2 * base::kPageBytes;
  EXPECT_LT(look(), before - expected * 9 / 10);
  EXPECT_EQ(look(), first_look());
}

// The heap is full of small blocks, then empty, then has large ones that nobody touches.
TEST_F(NativeResidency, IsThatOfAFirstLookAfterTheHeapShrankAndGrew) {
  NativeOptions options = options_for("");
  options.touch = Touch::kNone;
  start(options);
  note(before_);
  std::vector<ReplayOp> ops = mallocs(10'000, 2000);
  note(run(ops).regions);
  EXPECT_GT(look(), 10'000u * 2000 * 9 / 10);
  for (ReplayOp& op : ops) op = {ReplayKind::kFree, 0, 0, op.slot, 0};
  note(run(ops).regions);
  note(run(mallocs(100, 120'000)).regions);
  EXPECT_LT(look(), 100u * 120'000 / 2);
  EXPECT_EQ(look(), first_look());
}

// A block with a mapping of its own, of which a growth that is told as none leaves pages absent.
TEST_F(NativeResidency, GrowsByWhatAResizeGainsAndNotByTheRestOfTheBlock) {
  constexpr uint64_t kMiB = 1 << 20;
  constexpr uint64_t kMore = 4 * base::kPageBytes;  // headers, and pages in part
  start(options_for(""));
  note(before_);
  const auto resized = [this](uint64_t bytes, uint8_t log2) {
    const uint64_t before = look();
    note(run({{.kind = ReplayKind::kRealloc, .log2 = log2, .size = bytes}}).regions);
    return look() - before;
  };
  note(run({{.kind = ReplayKind::kMalloc, .size = kMiB}}).regions);
  EXPECT_LE(resized(8 * kMiB, kNoGrowth), kMore);
  const uint64_t grown = resized(9 * kMiB, growth_log2(8 * kMiB, 9 * kMiB));
  EXPECT_GE(grown, kMiB);
  EXPECT_LE(grown, kMiB + kMore);
  EXPECT_LE(resized(9 * kMiB + 8, growth_log2(9 * kMiB, 9 * kMiB + 8)), kMore);
}

// What is left out of a batch's time is what was touched in that batch.
TEST_F(Native, TakesTimeForABatchAfterOneThatTouchedMuch) {
  start(options_for(""));
  run(mallocs(64, 1 << 20));
  EXPECT_GT(run(pairs(1000, 32)).elapsed_ns, 1000u);
}

// The worker does not see that it does.
TEST_F(NativeResidency, IsThatOfAFirstLookWhereALibraryGivesPagesBack) {
  constexpr uint32_t kLarge = 20;
  start(target_library("libreplay_returning_malloc.so"));
  note(before_);
  note(run(mallocs(kLarge, 1 << 20)).regions);
  EXPECT_GE(look(), uint64_t{kLarge} << 20);
  std::vector<ReplayOp> ops;
  for (uint32_t slot = 0; slot < kLarge; ++slot) ops.push_back({ReplayKind::kFree, 0, 0, slot, 0});
  run(ops);
  EXPECT_LT(look(), uint64_t{1} << 20);
}

TEST_F(Native, GivesALibraryTheEnvironmentAskedForAndNoOther) {
  setenv("HEAPTAPE_NOT_FOR_WORKERS", "1", 1);
  NativeOptions options = target_library("libreplay_bare_malloc.so");
  options.environment = {"REPLAY_BARE_OFFSET=4096"};
  start(options);
  const Placement shifted = run_one(ReplayKind::kMalloc, 8);
  start(target_library("libreplay_bare_malloc.so"));
  EXPECT_EQ(shifted.address - run_one(ReplayKind::kMalloc, 8).address, 4096u);
}

TEST_F(Native, TakesRequestedSizesWhereALibraryTellsNone) {
  start(target_library("libreplay_bare_malloc.so"));
  EXPECT_EQ(run_one(ReplayKind::kMalloc, 100).usable_bytes, 100u);
  EXPECT_EQ(run_one(ReplayKind::kRealloc, 300).usable_bytes, 300u);
}

// libc's own memalign would hand the library a block that is not its own to free.
TEST_F(Native, RefusesKindsOfCallsThatALibraryLacks) {
  start(target_library("libreplay_bare_malloc.so"));
  for (const auto kind : {ReplayKind::kMemalign, ReplayKind::kAlignedAlloc, ReplayKind::kValloc,
                          ReplayKind::kPosixMemalign, ReplayKind::kPvalloc}) {
    EXPECT_EQ(run_one(kind, 64, 6).address, 0u) << name_of(kind);
    EXPECT_EQ(run_one(ReplayKind::kFree, 0).address, 0u);
  }
}

TEST_F(Native, ReplaysPvallocWhereALibraryHasOnlyOtherAlignedCalls) {
  start(options_for("libjemalloc.so.2"));
  const Placement placed = run_one(ReplayKind::kPvalloc, 100);
  EXPECT_NE(placed.address, 0u);
  EXPECT_EQ(placed.address % 4096, 0u);
  EXPECT_GE(placed.usable_bytes, 4096u);
  EXPECT_EQ(run_one(ReplayKind::kFree, 0), Placement());
  if (backend_->version() == "5.3.1") GTEST_SKIP() << "jemalloc 5.3.1 has a pvalloc of its own";
  EXPECT_EQ(run_one(ReplayKind::kPvalloc, UINT64_MAX).address, 0u);
}

TEST_F(Native, SaysHowAnAllocatorDied) {
  start(target_library("libreplay_aborting_malloc.so"));
  BatchResult result;
  EXPECT_TRUE(try_run(pairs(99, 10), result).ok());
  const auto status = try_run(pairs(1, 10), result);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, base::ErrorCode::kTarget);
  for (const char* part : {"'test'", "signal 6", "no more of this"}) {
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  }
}

TEST_F(Native, NamesTheEventAtWhichAnAllocatorDied) {
  start(target_library("libreplay_aborting_malloc.so"));
  BatchResult result;
  const auto status = try_run(pairs(200, 10), result);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().event, 199u);
}

TEST_F(Native, NamesAnEventBeyondItsSharedMemoryToo) {
  start(target_library("libreplay_aborting_malloc.so"));
  std::vector<ReplayOp> ops(kMaxBatchOps, {ReplayKind::kFreeNull, 0, 0, 0, 0});
  for (const ReplayOp& op : mallocs(200, 10)) ops.push_back(op);
  BatchResult result;
  const auto status = try_run(ops, result);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().event, kMaxBatchOps + 100);
}

TEST_F(Native, GivesUpOnAnAllocatorThatHangs) {
  NativeOptions options = target_library("libreplay_failing_malloc.so");
  options.environment = {"REPLAY_FAIL=hang"};
  options.patience_ms = 300;
  start(options);
  BatchResult result;
  const auto status = try_run(mallocs(20, 10), result);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().event, 10u);
  EXPECT_NE(status.error().message.find("hangs"), std::string::npos) << status.error().message;
}

// A hundred thousand free chunks that no other joins: mallinfo2 would walk over them each time.
TEST_F(Native, AsksMallinfoNoMoreOftenThanItCanAfford) {
  start(options_for(""));
  std::vector<ReplayOp> ops = mallocs(200000, 2000);
  for (uint32_t slot = 0; slot < 200000; slot += 2)
    ops.push_back({ReplayKind::kFree, 0, 0, slot, 0});
  run(ops);
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(backend_->residency({}).ok());
  EXPECT_LE(counter("mallinfoSamples"), 4u);
}

TEST(NativeStart, RefusesALibraryWithoutMalloc) {
  EXPECT_NE(start_error(target_library("libreplay_no_malloc.so")).find("exports no malloc"),
            std::string::npos);
}

TEST(NativeStart, RefusesALibraryWithoutFree) {
  const std::string error = start_error(target_library("libreplay_half_malloc.so"));
  EXPECT_NE(error.find("exports malloc but not free"), std::string::npos) << error;
}

TEST(NativeStart, RepeatsWhatTheLoaderSays) {
  const tests::TempDir dir;
  tests::write_bytes(dir.file("text.so"), std::string(1000, 'x'));
  const std::string error = start_error(options_for(dir.file("text.so")));
  EXPECT_NE(error.find("invalid ELF header"), std::string::npos) << error;
}

TEST(NativeStart, SaysWhichPathsTheLoaderCannotTake) {
  EXPECT_NE(start_error(options_for("/tmp/a:b.so")).find("no path with a colon"),
            std::string::npos);
}

TEST(NativeStart, FollowsALibraryThatLiesDeep) {
  const tests::TempDir dir;
  std::filesystem::path folder = dir.path();
  for (int i = 0; i < 6; ++i) folder /= std::string(120, 'd');
  std::filesystem::create_directories(folder);
  const auto library = folder / "libdeep.so";
  std::filesystem::copy_file(tests::target_path("libreplay_bare_malloc.so"), library);
  NativeBackend backend(options_for(library.string()));
  const auto started = backend.start();
  EXPECT_TRUE(started.ok()) << started.error().message;
}

TEST(NativeStart, ExplainsWhyAThreadThatBlocksSignalsIsFatal) {
  const std::string error = start_error(target_library("libreplay_threaded_malloc.so"));
  EXPECT_NE(error.find("one of its own threads"), std::string::npos) << error;
}

TEST(NativeStart, MeasuresNoOtherMallocAsGlibc) {
  NativeOptions options = options_for("");
  options.environment = {"LD_PRELOAD=" + tests::target_path("libreplay_bare_malloc.so")};
  EXPECT_NE(start_error(options).find("malloc comes from"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::allocators
