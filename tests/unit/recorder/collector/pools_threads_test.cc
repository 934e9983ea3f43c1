// The three threads that have to do with pools, side by side. Run under ThreadSanitizer by
// `./dev test`.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "recorder/collector/pools.h"
#include "tests/support/command.h"
#include "tests/support/fake_session.h"
#include "tests/support/live_session.h"
#include "tests/support/pool_member.h"

namespace heaptape::recorder {
namespace {

using tests::PoolMember;

TEST(PoolsInThreads, AreMadeUsedAndFreedByThreeThreads) {
  constexpr uint32_t kPid = 4711;
  tests::FakeSession session;
  Pools& pools = session.pools();
  std::atomic<bool> is_over = false;
  std::thread frees([&] {
    while (!is_over) pools.free_unmapped(base::monotonic_ns());
  });
  std::thread collects([&] {
    std::vector<uint32_t> known;
    while (!is_over) {
      for (const Pool* const pool : pools.take_claimed()) {
        EXPECT_FALSE(pool->pid() == 0 && !pool->is_spare());
        known.push_back(pool->number());
      }
      for (const uint32_t number : known) pools.leave(number);
      known.clear();
      pools.look(64);
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto own = pools.make_own(kPid);
    const PoolMember member(session.view(), *own);
    member.claim();
    if (i % 3 == 0) pools.take_back(*own);
    for (const auto& spare : pools.make_spares(2)) PoolMember(session.view(), *spare).claim();
    pools.restock();
  }
  is_over = true;
  frees.join();
  collects.join();
  EXPECT_EQ(pools.never_joined(), 0u);
}

// The lobby does not mention the process, and says at any time that a ring is wanted.
TEST(PoolsInThreads, AreFoundWhateverAHostileProcessSays) {
  tests::LiveSession session;
  const auto own = session.pools().make_own(tests::kNoPid);
  const PoolMember member(session.view(), *own);
  bool is_read = false;
  const auto has_swept = [&] { return session.view().lobby().ring_wanted == 0; };
  session.collect([&] {
    // Its place was looked at by now. The next look at it comes after those at all others.
    session.view().lobby().ring_wanted = 1;
    ASSERT_TRUE(tests::wait_until(has_swept));
    member.join(tests::kNoPid, kSlotForked | kSlotForeignPids);
    const RingHeader& ring = member.log();
    member.claim_silently();
    is_read = tests::wait_until([&] {
      session.view().lobby().ring_wanted = 1;
      return ring.tail != 0;
    });
  });
  EXPECT_TRUE(is_read);
}

}  // namespace
}  // namespace heaptape::recorder
