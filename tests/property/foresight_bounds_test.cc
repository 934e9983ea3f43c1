// model:foresight is a bound: no allocator that cannot move blocks has a much lower peak. On every
// scenario, and on random programs.
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/scenario.h"
#include "tests/support/replays.h"
#include "tests/support/scenario_tapes.h"
#include "tests/support/seeded_random.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

const std::vector<std::string> kSpecs = {
    "model:foresight", "model:ideal", "model:first-fit", "model:next-fit",   "model:best-fit",
    "model:buddy",     "model:runs",  "model:slabs",     "model:segregated", "model:ptmalloc"};

// Of the peaks: at least that of ideal, and at most 1 % and four pages above that of any other.
void check(const std::vector<RunMetrics>& runs) {
  ASSERT_EQ(runs.size(), kSpecs.size());
  const uint64_t peak = runs[0].committed_bytes_peak.value;
  EXPECT_GE(peak, runs[1].committed_bytes_peak.value);
  for (size_t i = 2; i < runs.size(); ++i) {
    const uint64_t other = runs[i].committed_bytes_peak.value;
    EXPECT_LE(peak, other + other / 100 + 4 * 4096) << kSpecs[i];
  }
}

TEST(Scenarios, StayWithinTheForesightBound) {
  for (const scenarios::Scenario& scenario : scenarios::scenarios()) {
    for (const auto& sets : tests::quick_variants(scenario)) {
      SCOPED_TRACE(scenario.name + testing::PrintToString(sets));
      check(tests::replay_scenario_on_each(scenario.name, sets, kSpecs));
    }
  }
}

// Phases, each of which has its sizes, adds blocks and frees some of all that there are.
std::vector<schema::Event> random_program(tests::Random& random) {
  std::vector<schema::Event> events;
  std::vector<uint64_t> live;
  uint64_t next_address = uint64_t{1} << 30;
  for (int phase = 0; phase < 10; ++phase) {
    const uint64_t largest = uint64_t{32} << random.below(10);
    const uint64_t added = 200 + random.below(2000);
    const uint64_t freed = random.below(2 * added);
    for (uint64_t i = 0; i < added + freed; ++i) {
      if (live.empty() || random.below(added + freed) < added) {
        const uint64_t size = 1 + (random.chance(3) ? random.below(largest) : largest);
        events.push_back(tests::malloc_event(size, next_address));
        live.push_back(std::exchange(next_address, next_address + 16 + (size | 15) + 1));
      } else {
        std::swap(live[random.below(live.size())], live.back());
        events.push_back(tests::free_event(live.back()));
        live.pop_back();
      }
    }
  }
  return events;
}

TEST(RandomPrograms, StayWithinTheForesightBound) {
  tests::SeededRandom random;
  for (int i = 0; i < 30 && !testing::Test::HasFailure(); ++i) {
    check(tests::replay_events(random_program(random), tests::replay_options(kSpecs)));
  }
}

}  // namespace
}  // namespace heaptape::replayer
