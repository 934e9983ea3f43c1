// What a plug-in does wrong ends the replay, with a sentence that says what and when. The plug-in
// is tests/e2e/targets/faulty_plugin.c: every block has pages of its own. Over
// 300 lines, because one fixture serves all of them.
#include "allocators/plugin/plugin_backend.h"

#include <gtest/gtest.h>

#include "allocators/catalog/backend_spec.h"
#include "tests/support/programs.h"

namespace heaptape::allocators {
namespace {

constexpr ReplayOp malloc_op(uint32_t slot, uint64_t size = 100) {
  return {ReplayKind::kMalloc, 0, 0, slot, size};
}
constexpr ReplayOp realloc_op(uint32_t slot, uint64_t size) {
  return {ReplayKind::kRealloc, 0, 0, slot, size};
}
constexpr ReplayOp free_op(uint32_t slot) {
  return {ReplayKind::kFree, 0, 0, slot, 0};
}

class FaultyPlugin : public testing::Test {
 protected:
  // Starts the plug-in with these options ("fault=overlap").
  void start(const std::string& options) {
    spec_ = "plugin:" + tests::target_path("libfaulty_plugin.so") + ":" + options;
    const auto spec = parse_spec(spec_);
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    backend_ = spec->make({});
    note(backend_->start());
  }
  void run(const std::vector<ReplayOp>& ops) {
    ReplayBatch batch{events_, 8, ops, {}, {}};
    batch.times = times_;
    if (!note(backend_->submit(batch))) return;
    note(backend_->collect(result_));
    events_ += ops.size();
  }
  void sample() { note(backend_->residency({})); }

  // Three mallocs and a sample with a fault, most of which come with the third malloc.
  void run_with(const std::string& fault) {
    start("fault=" + fault);
    run({malloc_op(0), malloc_op(1)});
    run({malloc_op(2)});
    if (said_.empty()) sample();
  }
  void expect(const std::string& sentence) const {
    EXPECT_EQ(said_, "'" + spec_ + "' (faulty): " + sentence);
  }
  uint64_t counter(const std::string& name) {
    for (const Counter& counter : backend_->counters()) {
      if (counter.name == name) return counter.value;
    }
    return UINT64_MAX;
  }

  std::string spec_;
  std::unique_ptr<Backend> backend_;
  BatchResult result_;
  uint64_t events_ = 0;
  std::vector<schema::TimeSample> times_;
  std::string said_;  // by the first error

 private:
  template <typename T>
  bool note(const base::Result<T>& result) {
    if (result.ok()) return true;
    EXPECT_EQ(result.error().code, base::ErrorCode::kTarget);
    if (said_.empty()) said_ = result.error().message;
    return false;
  }
};

TEST_F(FaultyPlugin, ReplaysWhenItDoesNothingWrong) {
  run_with("none");
  run({realloc_op(0, 50), free_op(0), free_op(1), {ReplayKind::kCalloc, 0, 0, 0, 9}});
  sample();
  EXPECT_EQ(said_, "");
  EXPECT_EQ(result_.placements[3], (Placement{0x100000003000, 4096}));
}

TEST_F(FaultyPlugin, IsNamedWhenBlocksOverlap) {
  run_with("overlap");
  expect(
      "at event 3 it placed a block of 4096 usable bytes at 0x100000001010, over the live "
      "block at 0x100000001000 to 0x100000002000");
}

TEST_F(FaultyPlugin, IsNamedWhenABlockIsOffTheGranule) {
  run_with("misaligned");
  expect(
      "at event 3 it placed a block of 4096 usable bytes at 0x100000002008, which is not a "
      "multiple of 16");
}

TEST_F(FaultyPlugin, IsNamedWhenABlockIsOffItsAlignment) {
  start("fault=unaligned");
  run({malloc_op(0), malloc_op(1), {ReplayKind::kMemalign, 14, 0, 2, 8192}});
  expect(
      "at event 3 it placed a block of 12288 usable bytes at 0x100000005000, which is not a "
      "multiple of 16384");
}

TEST_F(FaultyPlugin, IsNamedWhenABlockLeavesItsMemory) {
  run_with("outside");
  expect(
      "at event 3 it placed a block of 8192 usable bytes at 0x100000002000, not all of which "
      "is committed");
}

TEST_F(FaultyPlugin, IsNamedWhenABlockWrapsAround) {
  run_with("wraps");
  expect(
      "at event 3 it placed a block of 18446744073709551615 usable bytes at 0x100000002000, "
      "not all of which is committed");
}

TEST_F(FaultyPlugin, IsNamedWhenABlockIsTooShort) {
  run_with("short");
  expect("at event 3 it placed a block of 99 usable bytes at 0x100000002000 for a request of 100");
}

TEST_F(FaultyPlugin, IsNamedWhenItCommitsWhatIsCommitted) {
  run_with("commit_twice");
  expect(
      "at event 3 it committed 0x100000001000 to 0x100000003000, some of which is committed "
      "already");
}

TEST_F(FaultyPlugin, IsNamedWhenItCommitsPartsOfPages) {
  run_with("commit_part");
  expect(
      "at event 3 it committed 0x100000012000 to 0x100000012064, which are not whole pages of "
      "4096 bytes");
}

TEST_F(FaultyPlugin, IsNamedWhenItLeavesTheWindow) {
  run_with("commit_outside");
  expect(
      "at event 3 it committed 0x3ffffffff000 to 0x400000001000, which lies outside of the "
      "window 0x100000000000 to 0x400000000000");
}

TEST_F(FaultyPlugin, IsNamedWhenItCommitsNothing) {
  run_with("commit_empty");
  expect("at event 3 it committed 0x100000012000 to 0x100000012000, which is empty");
}

TEST_F(FaultyPlugin, IsNamedWhenItCommitsBackwards) {
  run_with("commit_wild");
  expect("at event 3 it committed 0xfffffffffffff000 to 0x0, which is empty");
}

TEST_F(FaultyPlugin, IsNamedWhenItTakesMemoryFromUnderABlock) {
  run_with("decommit_live");
  expect(
      "at event 3 it decommitted 0x100000001000 to 0x100000002000 under the live block at "
      "0x100000001000 to 0x100000002000");
}

TEST_F(FaultyPlugin, IsNamedWhenItGivesBackWhatItDoesNotHave) {
  run_with("decommit_alien");
  expect(
      "at event 3 it decommitted 0x100000012000 to 0x100000013000, not all of which is "
      "committed");
}

TEST_F(FaultyPlugin, IsNamedWhenItGivesBackPartsOfPages) {
  run_with("decommit_part");
  expect(
      "at event 3 it decommitted 0x100000001001 to 0x100000002000, which are not whole pages of "
      "4096 bytes");
}

TEST_F(FaultyPlugin, IsNamedWhenItLosesCountOfItsBlocks) {
  start("fault=leak");
  run({malloc_op(0), malloc_op(1), free_op(0)});
  sample();
  expect("at event 3 it counts 2 live blocks where there are 1");
}

TEST_F(FaultyPlugin, IsNamedWhenItForgetsABlock) {
  start("fault=forgets");
  run({malloc_op(0), malloc_op(1), malloc_op(2), free_op(0)});
  sample();
  expect("at event 4 it counts 1 live blocks where there are 2");
}

TEST_F(FaultyPlugin, IsNamedWhenItCannotBeMade) {
  start("fault=create_null");
  expect("when it was made, it returned NULL from create() and did not say why");
}

TEST_F(FaultyPlugin, IsQuotedWhenItSaysWhyItCannotBeMade) {
  start("fault=create_fails");
  expect("when it was made, it gave up: the moon is not full");
}

TEST_F(FaultyPlugin, IsNamedWhenItDoesWrongWhileItIsMade) {
  start("fault=create_commits");
  expect(
      "when it was made, it committed 0x1000 to 0x2000, which lies outside of the window "
      "0x100000000000 to 0x400000000000");
}

TEST_F(FaultyPlugin, IsQuotedWhenItGivesUp) {
  run_with("gives_up");
  expect("at event 3 it gave up: it is too late");
}

TEST_F(FaultyPlugin, MayGiveUpWithoutASentence) {
  run_with("gives_up_0");
  expect("at event 3 it gave up: it did not say why");
}

TEST_F(FaultyPlugin, IsNamedWhenABlockIsAbsent) {
  run_with("absent_live");
  expect(
      "at event 3 it called 0x100000002000 to 0x100000003000 absent, where the live block at "
      "0x100000002000 to 0x100000003000 is");
}

TEST_F(FaultyPlugin, IsNamedWhenWhatIsAbsentIsNotCommitted) {
  run_with("absent_alien");
  expect(
      "at event 3 it called 0x100000003000 to 0x100000004000 absent, not all of which is "
      "committed");
}

TEST_F(FaultyPlugin, IsNamedWhenPartOfAPageIsAbsent) {
  run_with("absent_part");
  expect(
      "at event 3 it called 0x100000000000 to 0x100000000008 absent, which are not whole pages "
      "of 4096 bytes");
}

TEST_F(FaultyPlugin, IsNamedWhenWhatIsAbsentIsNotAscending) {
  start("fault=absent_order");
  run({malloc_op(0), free_op(0)});
  sample();
  expect(
      "at event 2 it called 0x100000000000 to 0x100000001000 absent, which is not above the "
      "stretch before it");
}

TEST_F(FaultyPlugin, IsNamedWhenItSpeaksOfAbsenceUnasked) {
  run_with("absent_late");
  expect("at event 3 it called absent() where the interface does not allow it");
}

TEST_F(FaultyPlugin, IsNamedWhenItCommitsWhileItIsOnlyAsked) {
  run_with("commit_late");
  expect("at event 3 it called commit() where the interface does not allow it");
}

TEST_F(FaultyPlugin, IsNamedWhenItsWorkFalls) {
  run_with("work_falls");
  expect("at event 3 it counted 1 calls after 2");
}

TEST_F(FaultyPlugin, IsNamedWhenARefusedResizeTakesTheMemory) {
  start("fault=refusal");
  run({malloc_op(0), realloc_op(0, 50)});
  expect(
      "at event 2 it refused to resize the live block at 0x100000000000 to 0x100000001000, but "
      "decommitted its memory");
}

TEST_F(FaultyPlugin, IsNamedWhenAResizedBlockIsTooShort) {
  start("fault=short_resize");
  run({malloc_op(0), realloc_op(0, 11)});
  expect("at event 2 it placed a block of 10 usable bytes at 0x100000000000 for a request of 11");
}

TEST_F(FaultyPlugin, IsNamedWhenABlockGrowsOverTheNext) {
  start("fault=overlap_size");
  run({malloc_op(0), malloc_op(1), realloc_op(0, 5000)});
  expect(
      "at event 3 it placed a block of 8192 usable bytes at 0x100000000000, over the live "
      "block at 0x100000001000 to 0x100000002000");
}

TEST_F(FaultyPlugin, MayGiveBackTheMemoryOfABlockThatItMoves) {
  start("fault=moves_away");
  run({malloc_op(0), realloc_op(0, 5000)});
  sample();
  EXPECT_EQ(said_, "");
  EXPECT_EQ(result_.regions.size(), 3u);
}

TEST_F(FaultyPlugin, IsBlamedForTheFirstOfTwoFaults) {
  run_with("double_fault");
  expect(
      "at event 3 it decommitted 0x100000012000 to 0x100000013000, not all of which is "
      "committed");
}

TEST_F(FaultyPlugin, IsBelievedWithoutChecks) {
  run_with("overlap,check=off");
  EXPECT_EQ(said_, "");
  EXPECT_EQ(result_.placements[0].address, 0x100000001010u);
}

TEST_F(FaultyPlugin, MayRefuseARequest) {
  start("fault=none");
  run({malloc_op(0, UINT64_MAX / 2), free_op(0), malloc_op(0)});
  sample();
  EXPECT_EQ(said_, "");
  EXPECT_EQ(result_.placements[0].address, 0u);
}

TEST_F(FaultyPlugin, HearsOfThreadsAndTime) {
  start("fault=none");
  times_ = {{0, 1000}, {1, 2000}};
  run({malloc_op(0), {ReplayKind::kMalloc, 0, 7, 1, 10}});
  EXPECT_EQ(counter("lastThread"), 7u);
  EXPECT_EQ(counter("lastTime"), 2000u);
}

TEST_F(FaultyPlugin, HasItsWorkPlottedAgainstLiveBlocks) {
  run_with("none");
  const auto curves = backend_->growth();
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[0].work, "calls");
  EXPECT_EQ(curves[0].work_total, 3u);
}

TEST_F(FaultyPlugin, ExistsAsOftenAsItIsAskedFor) {
  start("fault=none");
  run({malloc_op(0)});
  const auto second = parse_spec(spec_)->make({});
  EXPECT_EQ(second->counters()[2].value, 0u);
  EXPECT_EQ(counter("allocations"), 1u);
}

TEST(ExamplePlugin, HasNoCurvesBecauseItCountsNoWork) {
  const auto spec = parse_spec("plugin:" + tests::target_path("libsize_classes.so"));
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_TRUE(spec->make({})->growth().empty());
}

}  // namespace
}  // namespace heaptape::allocators
