// The calls of fleet-like against the shares on its page, docs/scenarios/fleet-like.md.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/scenario_tapes.h"

namespace heaptape::scenarios {
namespace {

using schema::Event;
using schema::Op;

struct Birth {
  uint64_t event;
  uint64_t size;
  uint32_t thread;
};

// What became of the blocks of a tape.
struct Lives {
  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t brief = 0;   // lived for at most 64 calls beyond their turn
  uint64_t remote = 0;  // freed by another thread
  std::map<uint64_t, Birth> live;
};

Lives follow(const std::vector<Event>& events) {
  Lives lives;
  for (uint64_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.op == Op::kMalloc) {
      ++lives.allocations;
      lives.live[event.address] = {i, event.size, event.thread};
      continue;
    }
    const Birth birth = lives.live.at(event.freed_address);
    lives.live.erase(event.freed_address);
    ++lives.frees;
    lives.brief += i - birth.event <= 96;
    lives.remote += event.thread != birth.thread;
  }
  return lives;
}

double share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<Event> mixture(std::vector<std::string> sets = {}) {
  sets.insert(sets.begin(), {"events=200000", "live=2000"});
  return tests::scenario_events("fleet-like", sets);
}

// The share of allocations of at most `bytes`.
double share_up_to(const std::vector<Event>& events, uint64_t bytes) {
  uint64_t count = 0;
  uint64_t allocations = 0;
  for (const Event& event : events) {
    allocations += event.op == Op::kMalloc;
    count += event.op == Op::kMalloc && event.size <= bytes;
  }
  return share(count, allocations);
}

TEST(FleetLike, RequestsMostlySmallBlocks) {
  const auto events = mixture();
  EXPECT_NEAR(share_up_to(events, 64), 0.649, 0.01);
  EXPECT_NEAR(share_up_to(events, 1024), 0.953, 0.005);
  EXPECT_NEAR(share_up_to(events, 8192), 0.995, 0.002);
}

TEST(FleetLike, HasMostBytesInLargerBlocks) {
  uint64_t small = 0;
  uint64_t all = 0;
  for (const Event& event : mixture()) {
    all += event.size;
    if (event.size <= 1024) small += event.size;
  }
  EXPECT_NEAR(share(small, all), 0.2, 0.04);
}

TEST(FleetLike, KeepsTheRequestedNumberOfBlocksAlive) {
  const Lives lives = follow(mixture({"forever=0"}));
  EXPECT_NEAR(static_cast<double>(lives.live.size()), 2000, 200);
}

TEST(FleetLike, KeepsMostlySmallBlocksAlive) {
  uint64_t small = 0;
  const Lives lives = follow(mixture({"forever=0"}));
  for (const auto& [address, birth] : lives.live) small += birth.size <= 64;
  EXPECT_NEAR(share(small, lives.live.size()), 0.614, 0.03);
}

TEST(FleetLike, NeverFreesAFew) {
  const Lives lives = follow(mixture({"forever=100"}));
  const Lives none = follow(mixture({"forever=0"}));
  EXPECT_NEAR(static_cast<double>(lives.live.size()),
              static_cast<double>(none.live.size()) + 0.01 * 100'000, 250);
}

TEST(FleetLike, FreesMostBlocksSoon) {
  const Lives lives = follow(mixture());
  EXPECT_NEAR(share(lives.brief, lives.allocations), 0.8, 0.03);
}

TEST(FleetLike, FreesAShareOnOtherThreads) {
  const Lives lives = follow(mixture());
  EXPECT_NEAR(share(lives.remote, lives.frees), 0.2, 0.01);
}

TEST(FleetLike, UsesAllItsThreads) {
  std::set<uint32_t> threads;
  for (const Event& event : mixture({"threads=3"})) threads.insert(event.thread);
  EXPECT_EQ(threads, (std::set<uint32_t>{0, 1, 2}));
}

TEST(FleetLike, FreesOnItsOneThread) {
  EXPECT_EQ(follow(mixture({"threads=1"})).remote, 0u);
}

}  // namespace
}  // namespace heaptape::scenarios
