// The calls of clone-like against what docs/scenarios/clone-like.md says of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/scenario_tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::scenarios {
namespace {

using schema::Event;
using schema::Op;

constexpr uint64_t kNameBytes = 37 + 40;
constexpr uint64_t kObjectBytes = 80;
constexpr uint64_t kNodeBytes = 37 + 20;

std::vector<Event> clone(std::vector<std::string> sets = {}) {
  sets.insert(sets.begin(), "events=100000");
  return tests::scenario_events("clone-like", sets);
}

uint64_t count_mallocs(const std::vector<Event>& events, uint64_t size) {
  return static_cast<uint64_t>(std::ranges::count_if(
      events, [&](const Event& event) { return event.op == Op::kMalloc && event.size == size; }));
}

// A revision has four nodes.
uint64_t revisions_of(const std::vector<Event>& events) {
  return count_mallocs(events, kNodeBytes) / 4;
}

TEST(CloneLike, KeepsANameAndAnObjectOfEachRevision) {
  const auto events = clone();
  auto kept = tests::survivors_of(events);
  EXPECT_GT(revisions_of(events), 100u);
  EXPECT_EQ(kept[kNameBytes], revisions_of(events));
  EXPECT_EQ(kept[kObjectBytes], revisions_of(events));
}

TEST(CloneLike, KeepsTheNewestTextOfEachFileAndOneTable) {
  for (const uint64_t files : {1u, 3u}) {
    auto kept = tests::survivors_of(clone({"files=" + std::to_string(files)}));
    kept.erase(kNameBytes);
    kept.erase(kObjectBytes);
    uint64_t others = 0;
    for (const auto& [size, count] : kept) others += count;
    EXPECT_EQ(others, files + 1);
  }
}

TEST(CloneLike, EndsWithTheRevisionThatReachesTheNumberOfCalls) {
  const auto events = clone();
  const auto fewer = clone({"events=" + std::to_string(events.size())});
  EXPECT_GE(events.size(), 100'000u);
  EXPECT_LT(events.size(), 103'000u);
  EXPECT_EQ(fewer.size(), events.size());
  EXPECT_GT(clone({"events=" + std::to_string(events.size() + 1)}).size(), events.size());
}

// As in CPython, so that the next lines get the same places in the same order.
TEST(CloneLike, FreesTheLinesOfATextBackwards) {
  const auto events = clone({"files=1"});
  std::vector<uint64_t> allocated;
  uint64_t longest = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].op == Op::kMalloc) {
      allocated.push_back(events[i].address);
      continue;
    }
    if (allocated.size() > 10) {
      longest = std::max<uint64_t>(longest, allocated.size());
      for (size_t j = 0; j < 10; ++j) {
        ASSERT_EQ(events.at(i + j).freed_address, allocated.at(allocated.size() - 1 - j));
      }
    }
    allocated.clear();
  }
  EXPECT_GE(longest, 20u);
}

TEST(CloneLike, MovesItsTableToOneFourTimesAsLarge) {
  const auto events = clone();
  EXPECT_EQ(events.front().size, 24 * 32u);
  for (const uint64_t entries : {128, 512}) {
    EXPECT_EQ(count_mallocs(events, 24 * entries), 1u) << entries;
  }
}

// On which the figures of billions of calls depend (docs/benchmarks.md).
TEST(CloneLike, TakesLittleOfTheTape) {
  const tests::TempDir dir;
  const auto path = tests::write_scenario(dir, "clone-like", {"events=1M"});
  EXPECT_LT(std::filesystem::file_size(path), 350'000u);
}

}  // namespace
}  // namespace heaptape::scenarios
