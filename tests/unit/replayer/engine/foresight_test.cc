#include "replayer/engine/foresight.h"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <map>

#include "tests/support/replays.h"
#include "tests/support/seeded_random.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using allocators::Deaths;
using allocators::ReplayKind;
using tests::free_event;
using tests::malloc_event;
using tests::realloc_event;

// A tape in one batch.
ResolvedBatch resolved(const std::vector<schema::Event>& events) {
  ResolvedBatch batch;
  SlotResolver resolver;
  EXPECT_TRUE(resolver.resolve(events, 0, batch).ok());
  return batch;
}

std::vector<uint32_t> ticks_of(const std::vector<schema::Event>& events) {
  const ResolvedBatch batch = resolved(events);
  auto deaths = DeathTimes::create(events.size());
  deaths->note(batch);
  const Deaths found = deaths->for_batch(batch);
  return {found.ticks.begin(), found.ticks.end()};
}

TEST(DeathTimes, AreTheCallsThatFreeOrResizeTheBlock) {
  const std::vector<uint32_t> ticks =
      ticks_of({malloc_event(10, 0x1000), malloc_event(10, 0x2000),
                realloc_event(0x1000, 20, 0x3000), free_event(0x3000), free_event(0)});
  EXPECT_EQ(ticks, (std::vector<uint32_t>{3, Deaths::kNever, 4, 0, 0}));
}

TEST(DeathTimes, AgreeWithASearchForEachBlock) {
  tests::SeededRandom random;
  const auto events = tests::eventful_events(random, 5000, 16, true);
  const ResolvedBatch batch = resolved(events);
  const std::vector<uint32_t> ticks = ticks_of(events);
  for (size_t i = 0; i < batch.ops.size(); ++i) {
    uint32_t expected = 0;
    const ReplayKind kind = batch.ops[i].kind;
    if (kind != ReplayKind::kNothing && kind != ReplayKind::kFreeNull &&
        kind != ReplayKind::kFree) {
      size_t end = i + 1;
      while (end < batch.ops.size() && (batch.ops[end].slot != batch.ops[i].slot ||
                                        batch.ops[end].kind == ReplayKind::kNothing ||
                                        batch.ops[end].kind == ReplayKind::kFreeNull)) {
        ++end;
      }
      expected = end == batch.ops.size() ? Deaths::kNever : static_cast<uint32_t>(end + 1);
    }
    ASSERT_EQ(ticks[i], expected) << "#" << i + 1;
  }
}

TEST(DeathTimes, KnowNothingOfATapeWithoutCalls) {
  EXPECT_TRUE(ticks_of({}).empty());
}

// For as long as it lives, temporary files go to `folder`.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const char* folder) {
    const char* const before = getenv("TMPDIR");
    if (before != nullptr) before_ = before;
    setenv("TMPDIR", folder, 1);
  }
  ~TemporaryFolder() {
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

TEST(DeathTimes, SayWhereTheyFindNoRoom) {
  const TemporaryFolder folder("/nowhere");
  const auto deaths = DeathTimes::create(1000);
  ASSERT_FALSE(deaths.ok());
  EXPECT_EQ(deaths.error().message,
            "a model with foresight needs a temporary file of 4,000 bytes in '/nowhere': No such "
            "file or directory; set TMPDIR to a directory with more space, or omit the model");
}

TEST(DeathTimes, AreNotKeptWhereNoModelHasForesight) {
  const tests::TempDir dir;
  tests::write_tape(dir.file("tape"), {malloc_event(10, 0x1000)});
  const TemporaryFolder folder("/nowhere");
  EXPECT_EQ(tests::replay_tape(dir.file("tape"), tests::replay_options({"model:ideal"})).size(),
            1u);
}

class ForesightReplay : public testing::Test {
 protected:
  std::vector<RunMetrics> replayed(const std::vector<std::string>& specs) {
    ReplayOptions options = tests::replay_options(specs);
    options.samples = 16;
    return tests::replay_events(events_, options);
  }

  tests::SeededRandom random_;
  const std::vector<schema::Event> events_ = tests::eventful_events(random_, 50'000, 16, true);
};

TEST_F(ForesightReplay, ChangesNothingForOtherAllocators) {
  const auto alone = replayed({"model:first-fit"});
  const auto beside = replayed({"model:foresight", "model:first-fit"});
  ASSERT_EQ(alone.size() + beside.size(), 3u);
  EXPECT_EQ(tests::lasting_text(alone[0]), tests::lasting_text(beside[1]));
}

TEST_F(ForesightReplay, IsTheSameEachTime) {
  const auto runs = replayed({"model:foresight", "again=model:foresight"});
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(tests::lasting_text(runs[0]), tests::lasting_text(runs[1]));
}

TEST_F(ForesightReplay, HasTheLowestPeakOfAllWaysOfPlacing) {
  const auto runs = replayed({"model:foresight", "a=model:foresight:placing=first",
                              "b=model:foresight:placing=fit", "c=model:foresight:placing=deaths",
                              "d=model:foresight:placing=boxes"});
  ASSERT_EQ(runs.size(), 5u);
  uint64_t lowest = UINT64_MAX;
  for (size_t i = 1; i < 5; ++i) lowest = std::min(lowest, runs[i].committed_bytes_peak.value);
  EXPECT_EQ(runs[0].committed_bytes_peak.value, lowest);
}

TEST_F(ForesightReplay, HoldsNoLessThanIsLive) {
  const auto runs = replayed({"model:foresight", "model:ideal"});
  ASSERT_EQ(runs.size(), 2u);
  ASSERT_EQ(runs[0].timeline.size(), runs[1].timeline.size());
  for (size_t i = 0; i < runs[0].timeline.size(); ++i) {
    EXPECT_GE(runs[0].timeline[i].committed_bytes, runs[1].timeline[i].committed_bytes);
  }
}

// Half of the blocks are freed at half time. Who knows which lays them apart.
TEST(ForesightBoxes, KeepWhatDiesFromWhatStays) {
  std::vector<schema::Event> events;
  for (uint64_t i = 1; i <= 40'000; ++i) events.push_back(malloc_event(496, i * 512));
  for (uint64_t i = 1; i <= 40'000; i += 2) events.push_back(free_event(i * 512));
  const auto runs = tests::replay_events(
      events, tests::replay_options({"model:foresight:placing=boxes", "model:first-fit"}));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_LT(runs[0].end.committed_bytes, 20'000u * 520);
  EXPECT_GT(runs[1].end.committed_bytes, 40'000u * 496);
}

}  // namespace
}  // namespace heaptape::replayer
