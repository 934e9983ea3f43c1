// The pools of a session, in the hands of processes that map them or do not.
#include "recorder/collector/pools.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "base/clock.h"
#include "tests/support/fake_session.h"
#include "tests/support/limit.h"
#include "tests/support/pool_member.h"

namespace heaptape::recorder {
namespace {

using Member = tests::PoolMember;

constexpr uint32_t kPid = 4711;

class PoolsTest : public testing::Test {
 protected:
  // When none is new any more, and each time later.
  void free_old_ones() {
    later_ns_ += 60'000 * base::kMillisecondNs;
    pools_.free_unmapped(later_ns_);
  }

  tests::FakeSession session_;
  Pools& pools_ = session_.pools();
  uint64_t later_ns_ = base::monotonic_ns();
};

TEST_F(PoolsTest, AreEachForOneProcess) {
  const auto own = pools_.make_own(kPid);
  const auto spares = pools_.make_spares(2);
  ASSERT_EQ(spares.size(), 2u);
  const std::set<uint32_t> numbers = {pools_.common().number(), own->number(), spares[0]->number(),
                                      spares[1]->number()};
  EXPECT_EQ(numbers.size(), 4u);
  EXPECT_EQ(own->pid(), kPid);
  EXPECT_FALSE(own->is_spare());
  EXPECT_TRUE(spares[0]->is_spare());
  EXPECT_FALSE(pools_.common().is_spare());
}

TEST_F(PoolsTest, CannotBeResizedByWhoeverHasOne) {
  const auto own = pools_.make_own(kPid);
  EXPECT_NE(ftruncate(own->descriptor(), 0), 0);
  EXPECT_NE(ftruncate(own->descriptor(), static_cast<off_t>(2 * pool_bytes(kRings))), 0);
}

TEST_F(PoolsTest, HaveAsManyRingsAsAProcessMayNeed) {
  struct stat info{};
  ASSERT_EQ(fstat(pools_.make_own(kPid)->descriptor(), &info), 0);
  EXPECT_EQ(static_cast<uint64_t>(info.st_size), pool_bytes(kRings));
  ASSERT_EQ(fstat(pools_.make_spares(1)[0]->descriptor(), &info), 0);
  EXPECT_EQ(static_cast<uint64_t>(info.st_size), pool_bytes(kSpareRings));
}

TEST_F(PoolsTest, AreGivenInBatchesOfSomeSize) {
  EXPECT_EQ(pools_.make_spares(0).size(), 0u);
  EXPECT_EQ(pools_.make_spares(UINT32_MAX).size(), kMostSpares);
}

TEST_F(PoolsTest, AreMappedWhenSomethingIsClaimed) {
  const auto idle = pools_.make_own(kPid);
  const auto used = pools_.make_own(kPid);
  const Member member(session_.view(), *used);
  EXPECT_TRUE(pools_.take_claimed().empty());
  member.claim();
  const auto claimed = pools_.take_claimed();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0]->number(), used->number());
  EXPECT_EQ(claimed[0]->view().header().claims, 1u);
  EXPECT_TRUE(claimed[0]->view().is_whole());
  EXPECT_EQ(pools_.mapped().size(), 2u);  // with the common one
  EXPECT_TRUE(pools_.take_claimed().empty());
}

TEST_F(PoolsTest, ShowTheirContentsAgainWhenAnotherProcessComes) {
  const auto pool = pools_.make_own(kPid);
  const Member member(session_.view(), *pool);
  member.claim();
  ASSERT_EQ(pools_.take_claimed().size(), 1u);
  pools_.leave(pool->number());
  EXPECT_EQ(pools_.mapped().size(), 1u);
  member.claim();
  const auto claimed = pools_.take_claimed();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0]->view().header().claims, 2u);
}

TEST_F(PoolsTest, AreFreedAtOnceWhenTheirProcessIsGone) {
  std::weak_ptr<const Pool> pool;
  {
    const auto own = pools_.make_own(kPid);
    const Member member(session_.view(), *own);
    member.claim();
    pool = own;
    ASSERT_EQ(pools_.take_claimed().size(), 1u);
  }
  pools_.free_unmapped(base::monotonic_ns());
  EXPECT_FALSE(pool.expired());  // the collector still has it
  pools_.leave(pool.lock()->number());
  pools_.free_unmapped(base::monotonic_ns());
  EXPECT_TRUE(pool.expired());
  EXPECT_EQ(pools_.never_joined(), 0u);
}

// It came when the collector had looked through the pool for the last time.
TEST_F(PoolsTest, StayUntilTheLastProcessThatJoinedIsSeen) {
  std::weak_ptr<const Pool> pool;
  uint32_t number = 0;
  {
    const auto own = pools_.make_own(kPid);
    pool = own;
    number = own->number();
    const Member member(session_.view(), *own);
    member.claim();
    ASSERT_EQ(pools_.take_claimed().size(), 1u);
    member.claim_silently();
    pools_.leave(number);
  }
  free_old_ones();
  EXPECT_FALSE(pool.expired());
  pools_.look(kPoolPlaces);
  ASSERT_EQ(pools_.take_claimed().size(), 1u);
  EXPECT_EQ(pools_.at(number).view().header().claims, 2u);
  pools_.leave(number);
  free_old_ones();
  EXPECT_TRUE(pool.expired());
}

// A child that was forked and has made no call yet.
TEST_F(PoolsTest, StayWhileAnybodyMapsThem) {
  std::weak_ptr<const Pool> pool;
  {
    const auto own = pools_.make_own(kPid);
    pool = own;
    const Member child(session_.view(), *own);
    child.claim();
    pools_.take_claimed();
    pools_.leave(own->number());
    free_old_ones();
    EXPECT_FALSE(pool.expired());
  }
  EXPECT_FALSE(pool.expired());
  free_old_ones();
  EXPECT_TRUE(pool.expired());
}

TEST_F(PoolsTest, StayWhileTheyAreOnTheirWayToAProcess) {
  std::weak_ptr<const Pool> pool;
  {
    const auto own = pools_.make_own(kPid);
    pool = own;
  }
  pools_.free_unmapped(base::monotonic_ns());
  pools_.free_unmapped(0);  // a call that began before it was made
  EXPECT_FALSE(pool.expired());
  EXPECT_EQ(pools_.never_joined(), 0u);
  free_old_ones();
  EXPECT_TRUE(pool.expired());
  EXPECT_EQ(pools_.never_joined(), 1u);
}

TEST_F(PoolsTest, AreTakenBackWhenTheirProcessDoesNotGetThem) {
  std::weak_ptr<const Pool> pool;
  {
    const auto own = pools_.make_own(kPid);
    pool = own;
    pools_.take_back(*own);
  }
  pools_.free_unmapped(base::monotonic_ns());
  EXPECT_TRUE(pool.expired());
  EXPECT_EQ(pools_.never_joined(), 0u);
}

// A process that says it is not there any more has claimed something there.
TEST_F(PoolsTest, AreTakenBackWhenTheCollectorDoesNotHaveThem) {
  std::weak_ptr<const Pool> pool;
  {
    const auto own = pools_.make_own(kPid);
    const Member member(session_.view(), *own);
    member.claim();
    pool = own;
    ASSERT_EQ(pools_.take_claimed().size(), 1u);
    pools_.take_back(*own);
  }
  pools_.free_unmapped(base::monotonic_ns());
  ASSERT_FALSE(pool.expired());
  pools_.leave(pool.lock()->number());
  pools_.free_unmapped(base::monotonic_ns());
  EXPECT_TRUE(pool.expired());
}

// Which one waits for its answer for very long.
TEST_F(PoolsTest, AreNotTakenBackTwice) {
  const auto own = pools_.make_own(kPid);
  free_old_ones();
  EXPECT_EQ(pools_.never_joined(), 1u);
  pools_.take_back(*own);
  free_old_ones();
  EXPECT_EQ(pools_.never_joined(), 1u);
  pools_.take_back(pools_.common());
}

TEST_F(PoolsTest, AreFreedThoughTheirProcessSealedThem) {
  std::weak_ptr<const Pool> pool;
  {
    const auto own = pools_.make_own(kPid);
    pool = own;
    ASSERT_EQ(fcntl(own->descriptor(), F_ADD_SEALS, F_SEAL_SEAL), 0);
  }
  free_old_ones();
  EXPECT_TRUE(pool.expired());
}

// A hostile process took the word back.
TEST_F(PoolsTest, AreFoundThoughNobodySaysThatSomethingWasClaimed) {
  const auto own = pools_.make_own(kPid);
  const Member member(session_.view(), *own);
  member.claim_silently();
  EXPECT_TRUE(pools_.take_claimed().empty());
  pools_.look(kPoolPlaces);
  const auto claimed = pools_.take_claimed();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0]->number(), own->number());
}

TEST_F(PoolsTest, AreMappedOnlyIfSomethingWasClaimedThereWhateverIsSaid) {
  const auto own = pools_.make_own(kPid);
  for (auto& word : session_.lobby().claimed_in) word = UINT64_MAX;
  ++session_.lobby().claims;
  EXPECT_TRUE(pools_.take_claimed().empty());
  EXPECT_EQ(pools_.mapped().size(), 1u);
}

TEST_F(PoolsTest, AreMappedLaterWhereThereWasNoRoom) {
  const auto own = pools_.make_own(kPid);
  const Member member(session_.view(), *own);
  member.claim();
  {
    const tests::Limit limit(RLIMIT_AS, 1 << 20);
    EXPECT_TRUE(pools_.take_claimed().empty());
  }
  EXPECT_EQ(pools_.unmapped(), 1u);
  ASSERT_EQ(pools_.take_claimed().size(), 1u);
  EXPECT_EQ(pools_.unmapped(), 0u);
}

// A copy would not show what it writes from then on.
TEST_F(PoolsTest, AreNotCopiedWhileTheirProcessLives) {
  const auto own = pools_.make_own(kPid);
  {
    const Member member(session_.view(), *own);
    member.claim();
    ASSERT_EQ(fcntl(own->descriptor(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    EXPECT_TRUE(pools_.take_claimed().empty());
    EXPECT_EQ(pools_.unmapped(), 1u);
  }
  free_old_ones();
  EXPECT_EQ(pools_.take_claimed().size(), 1u);
}

TEST_F(PoolsTest, LackWhereAddressesAreLimited) {
  const tests::Limit limit(RLIMIT_AS, uint64_t{1} << 46);
  Pools pools(session_.view());
  EXPECT_EQ(pools.make_own(kPid)->number(), 0u);
  const auto spares = pools.make_spares(2);
  ASSERT_EQ(spares.size(), 1u);
  EXPECT_EQ(spares[0]->number(), 0u);
}

TEST_F(PoolsTest, LeaveHalfOfTheDescriptorsForOtherUses) {
  const tests::Limit limit(RLIMIT_NOFILE, 200);
  std::vector<std::shared_ptr<const Pool>> taken;
  while (taken.size() < 200) {
    taken.push_back(pools_.make_own(kPid));
    if (taken.back()->number() == 0) break;
  }
  EXPECT_LT(taken.size(), 101u);
  EXPECT_EQ(taken.back()->number(), 0u);
  EXPECT_EQ(pools_.make_spares(kMostSpares)[0]->number(), 0u);
}

TEST_F(PoolsTest, GetNewNumbersInThePlacesOfFreedOnes) {
  std::set<uint32_t> numbers;
  for (uint32_t i = 0; i < kPoolPlaces + 10; ++i) {
    const auto pool = pools_.make_spares(1);
    ASSERT_EQ(pool.size(), 1u) << i;
    EXPECT_TRUE(numbers.insert(pool[0]->number()).second);
    pools_.take_back(*pool[0]);
    pools_.free_unmapped(base::monotonic_ns());
  }
}

// A parent's is less than its child's, however long the child's has been in stock.
TEST_F(PoolsTest, GetNumbersInTheOrderInWhichTheyAreHandedOut) {
  pools_.make_spares(2);
  pools_.restock();
  const auto parents = pools_.make_own(kPid);
  EXPECT_GT(pools_.make_spares(1)[0]->number(), parents->number());
}

}  // namespace
}  // namespace heaptape::recorder
