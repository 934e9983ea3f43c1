// What `--do` asks for in mid-run: when it happens, and what becomes of the memory.
#include <gtest/gtest.h>

#include <algorithm>

#include "replayer/engine/replay_plan.h"
#include "tests/support/programs.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using Sightings =
    std::vector<std::pair<uint64_t, size_t>>;  // after so many calls, how many actions

Sightings sightings(uint64_t events, std::vector<Action> actions) {
  ReplayPlan plan(events, 1, std::move(actions));
  Sightings seen;
  for (uint64_t done = 0; done < events;) {
    done += plan.room(done);
    const AfterBatch after = plan.reached(done);
    if (!after.actions.empty()) seen.emplace_back(done, after.actions.size());
  }
  return seen;
}

TEST(ReplayPlan, StopsAfterTheCallOfEachAction) {
  EXPECT_EQ(sightings(100, {{"trim", 70}, {"purge", 20}, {"trim", 70}, {"trim", Action::kEnd}}),
            (Sightings{{20, 1}, {70, 2}, {100, 1}}));
}

TEST(ReplayPlan, StopsOnceWhereTheRangeBegins) {
  ReplayPlan plan(10, 2, {{"trim", 4}}, {{"mark:m", 4}}, 4);
  EXPECT_EQ(plan.room(0), 4u);
  EXPECT_FALSE(plan.reached(3).begins_range);
  const AfterBatch begin = plan.reached(4);
  EXPECT_TRUE(begin.begins_range);
  EXPECT_TRUE(begin.measures());
  EXPECT_FALSE(begin.has_sample);
  EXPECT_EQ(begin.moments.size(), 1u);
  EXPECT_EQ(begin.actions.size(), 1u);
  EXPECT_EQ(plan.room(4), 3u);
  EXPECT_FALSE(plan.reached(4).begins_range);
  EXPECT_TRUE(plan.reached(7).has_sample);
  EXPECT_EQ(plan.room(7), 3u);
}

TEST(ReplayPlan, LetsNoAllocatorGoOnWhereTheRangeBegins) {
  ReplayPlan plan(10, 1, {}, {}, 4);
  EXPECT_FALSE(plan.reached(4).lets_go_on());
  EXPECT_TRUE(ReplayPlan(10, 1, {}).reached(4).lets_go_on());
}

TEST(ReplayPlan, TakesTheSampleOfAPlaceAfterItsActions) {
  ReplayPlan plan(10, 2, {{"trim", 5}});
  EXPECT_EQ(plan.room(0), 5u);
  const AfterBatch after = plan.reached(5);
  EXPECT_TRUE(after.has_sample);
  EXPECT_EQ(after.actions.size(), 1u);
}

TEST(ActionText, HasANameAndACount) {
  EXPECT_EQ(parse_action("trim@1.5k")->event, 1500u);
  EXPECT_EQ(parse_action("purge@7")->name, "purge");
  EXPECT_EQ(parse_action("trim@end")->event, Action::kEnd);
}

TEST(ActionText, IsRefusedWithTheRightWords) {
  for (const char* text : {"trim", "trim@", "@5", "shrink@5", "trim@-1", "trim@5KiB", "trim@End"}) {
    const auto action = parse_action(text);
    ASSERT_FALSE(action.ok()) << text;
    EXPECT_NE(action.error().message.find("type trim@N or purge@N"), std::string::npos) << text;
  }
}

constexpr uint64_t kBase = 0x555555560000;
constexpr uint64_t kBlockBytes = 50000;
constexpr uint64_t kBlocks = 400;

// All blocks are made, and then all but a few freed: holes between these.
std::vector<schema::Event> holes() {
  std::vector<schema::Event> events;
  const auto address = [](uint64_t i) { return kBase + i * (kBlockBytes + 16); };
  for (uint64_t i = 0; i < kBlocks; ++i) {
    events.push_back(tests::malloc_event(kBlockBytes, address(i)));
  }
  for (uint64_t i = 0; i < kBlocks; ++i) {
    if (i % 40 != 0) events.push_back(tests::free_event(address(i)));
  }
  return events;
}

RunMetrics replayed(const std::string& spec, std::vector<Action> actions,
                    const std::vector<schema::Event>& events = holes()) {
  ReplayOptions options = tests::replay_options({spec});
  options.actions = std::move(actions);
  auto runs = tests::replay_events(events, options);
  return runs.empty() ? RunMetrics() : std::move(runs[0]);
}

class ActionsOnRealAllocators : public testing::TestWithParam<const char*> {};

TEST_P(ActionsOnRealAllocators, FreeTheMemoryOfHoles) {
  const RunMetrics run = replayed(GetParam(), {{"purge", Action::kEnd}});
  ASSERT_EQ(run.actions.size(), 1u);
  EXPECT_EQ(run.actions[0].at, 790u);
  EXPECT_GT(run.actions[0].before.resident_bytes, 2 * run.actions[0].after.resident_bytes);
  EXPECT_EQ(run.end.resident_bytes, run.actions[0].after.resident_bytes);
  EXPECT_EQ(run.end.committed_bytes, run.actions[0].after.committed_bytes);
}

TEST_P(ActionsOnRealAllocators, SeeTheMemoryOfTheirMoment) {
  const RunMetrics run = replayed(GetParam(), {{"trim", kBlocks}, {"trim", Action::kEnd}});
  ASSERT_EQ(run.actions.size(), 2u);
  EXPECT_EQ(run.actions[0].at, kBlocks);
  EXPECT_GE(run.actions[0].after.resident_bytes, kBlocks * kBlockBytes);
  EXPECT_GE(run.resident_bytes_peak.value, run.actions[0].before.resident_bytes);
}

INSTANTIATE_TEST_SUITE_P(, ActionsOnRealAllocators,
                         testing::Values("glibc GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4194304",
                                         "jemalloc", "tcmalloc",
                                         "model:ptmalloc:mmap_threshold=4MiB"),
                         [](const auto& instance) {
                           const std::string spec = instance.param;
                           return spec.starts_with("model") ? "ptmalloc"
                                                            : spec.substr(0, spec.find(' '));
                         });

// mimalloc 2.0.9 gives back whole segments of 32 MiB.
TEST(Actions, FreeTheEmptySegmentsOfMimalloc) {
  if (!tests::mimalloc_3().empty()) GTEST_SKIP() << "mimalloc 3 has no such segments";
  std::vector<schema::Event> events;
  for (uint64_t i = 0; i < 1600; ++i) {
    events.push_back(tests::malloc_event(kBlockBytes, kBase + i * 65536));
  }
  for (uint64_t i = 0; i < 1600; ++i) events.push_back(tests::free_event(kBase + i * 65536));
  const RunMetrics run = replayed("mimalloc", {{"purge", Action::kEnd}}, events);
  ASSERT_EQ(run.actions.size(), 1u);
  EXPECT_GT(run.actions[0].before.resident_bytes, 2 * run.actions[0].after.resident_bytes);
  EXPECT_GT(run.actions[0].before.committed_bytes, run.actions[0].after.committed_bytes);
}

TEST(Actions, EmptyTheCacheOfTheThreadInJemalloc) {
  constexpr uint64_t kCachedBytes = 30000, kCached = 15;  // it caches 20 of these
  std::vector<schema::Event> events;
  for (uint64_t i = 0; i < kCached; ++i) {
    events.push_back(tests::malloc_event(kCachedBytes, kBase + i * 32768));
  }
  for (uint64_t i = 0; i < kCached; ++i) events.push_back(tests::free_event(kBase + i * 32768));
  const RunMetrics run = replayed("jemalloc", {{"purge", Action::kEnd}}, events);
  ASSERT_EQ(run.actions.size(), 1u);
  EXPECT_GE(run.actions[0].before.resident_bytes,
            run.actions[0].after.resident_bytes + kCached * kCachedBytes / 2);
}

TEST(Actions, SeeAPeakThatNoSampleSees) {
  ReplayOptions options = tests::replay_options({"glibc"});
  options.samples = 1;
  options.actions = {{"trim", 1}};
  const auto runs = tests::replay_events(
      {tests::malloc_event(10'000'000, kBase), tests::free_event(kBase)}, options);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_GE(runs[0].resident_bytes_peak.value, 10'000'000u);
  EXPECT_EQ(runs[0].resident_bytes_peak.at, 1u);
}

TEST(Actions, ComeBeforeTheFirstCallToo) {
  const RunMetrics run = replayed("glibc", {{"trim", 0}});
  ASSERT_EQ(run.actions.size(), 1u);
  EXPECT_EQ(run.actions[0].at, 0u);
  EXPECT_EQ(run.accounting.replayed, 790u);
}

TEST(Actions, LeaveAModelWhereTheyLeaveGlibc) {
  if (const auto why = tests::not_glibc_2_36(); !why.empty()) GTEST_SKIP() << why;
  const std::vector<Action> actions = {{"trim", 500}, {"trim", 600}, {"trim", Action::kEnd}};
  const RunMetrics real =
      replayed("glibc GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4194304", actions);
  const RunMetrics model = replayed("model:ptmalloc:mmap_threshold=4MiB", actions);
  ASSERT_EQ(model.actions.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(model.actions[i].after.committed_bytes, real.actions[i].after.committed_bytes) << i;
    EXPECT_EQ(model.actions[i].after.resident_bytes, real.actions[i].after.resident_bytes) << i;
  }
}

// The run, with its notes or its failure.
RunResult result_of(const std::string& spec, std::vector<Action> actions) {
  const tests::TempDir dir;
  tests::write_tape(dir.file("t"), holes());
  ReplayOptions options = tests::replay_options({spec});
  options.actions = std::move(actions);
  auto tape = schema::TapeReader::open(dir.file("t"));
  auto runs = replay(*tape, options, {});
  EXPECT_TRUE(runs.ok()) << runs.error().message;
  return runs.ok() ? std::move(runs->at(0)) : RunResult();
}

TEST(Actions, AreNotedWhereNothingCanBeAsked) {
  const std::string bare = "lib:" + tests::target_path("libreplay_bare_malloc.so");
  for (const std::string& spec : {bare, std::string("model:buddy"), std::string("recorded")}) {
    const RunResult run = result_of(spec, {{"trim", 9}, {"trim", 10}});
    const auto said = std::ranges::count_if(run.notes, [](const std::string& note) {
      return note.find("--do has no effect here") != std::string::npos;
    });
    EXPECT_EQ(said, 1) << spec;
    EXPECT_TRUE(run.metrics.actions.empty());
  }
}

TEST(Actions, ThatEndTheAllocatorAreItsFailure) {
  const RunResult run =
      result_of("lib:" + tests::target_path("libreplay_grudging_malloc.so"), {{"purge", 123}});
  ASSERT_TRUE(run.failure);
  EXPECT_EQ(run.failure->event, 123u);
}

TEST(Actions, BeyondTheEndAreRefused) {
  const auto status = check_actions({{"trim", 791}}, 790);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "'trim@791' comes after the end: the replay has 790 calls; for its end type trim@end");
  EXPECT_TRUE(check_actions({{"trim", 790}, {"trim", Action::kEnd}}, 790).ok());
}

}  // namespace
}  // namespace heaptape::replayer
