// What an account takes from an allocator's own statistics. answers_test.cc has the rest.
#include "replayer/answers/account.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

class OwnStatisticsOfAnAccount : public testing::Test {
 protected:
  static uint64_t sum(const Account& account) {
    return account.metadata_bytes + account.cached_bytes + account.hole_bytes + account.top_bytes;
  }

  Account account_{.metadata_bytes = 10, .cached_bytes = 20, .hole_bytes = 1000, .top_bytes = 300};
};

TEST_F(OwnStatisticsOfAnAccount, MoveWhatIsCachedOutOfHoles) {
  apply_own_statistics({{}, 400, {}}, 5000, account_);
  EXPECT_EQ(account_.cached_bytes, 420u);
  EXPECT_EQ(account_.hole_bytes, 600u);
  EXPECT_EQ(account_.top_bytes, 300u);
}

// jemalloc counts cached blocks as allocated.
TEST_F(OwnStatisticsOfAnAccount, FindWhatIsCachedInWhatIsAllocatedBeyondLiveBlocks) {
  apply_own_statistics({5100, {}, {}}, 5000, account_);
  EXPECT_EQ(account_.cached_bytes, 120u);
  EXPECT_EQ(account_.hole_bytes, 900u);
}

TEST_F(OwnStatisticsOfAnAccount, MoveMetadataOutOfTopsFirst) {
  apply_own_statistics({{}, {}, 450}, 5000, account_);
  EXPECT_EQ(account_.metadata_bytes, 460u);
  EXPECT_EQ(account_.top_bytes, 0u);
  EXPECT_EQ(account_.hole_bytes, 850u);
}

TEST_F(OwnStatisticsOfAnAccount, TakeNoMoreThanThereIs) {
  const uint64_t before = sum(account_);
  apply_own_statistics({{}, 5000, 5000}, 5000, account_);
  EXPECT_EQ(account_.hole_bytes, 0u);
  EXPECT_EQ(account_.top_bytes, 0u);
  EXPECT_EQ(sum(account_), before);
}

}  // namespace
}  // namespace heaptape::replayer
