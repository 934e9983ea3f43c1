#include "base/near_names.h"

#include <gtest/gtest.h>

namespace heaptape::base {
namespace {

using Names = std::vector<std::string>;

const Names kNames = {"end.liveBytes", "peak.liveBytes", "peak.liveCount", "time.nsPerEvent"};

TEST(NearNames, FindsAMissingLetter) {
  EXPECT_EQ(near_names("peak.livBytes", kNames).front(), "peak.liveBytes");
}

TEST(NearNames, FindsAnotherCase) {
  EXPECT_EQ(near_names("Peak.LiveBytes", kNames).front(), "peak.liveBytes");
}

TEST(NearNames, FindsEveryNameThatEndsSo) {
  EXPECT_EQ(near_names("liveBytes", kNames), (Names{"end.liveBytes", "peak.liveBytes"}));
}

TEST(NearNames, PutsTheNearestFirst) {
  EXPECT_EQ(near_names("peak.liveCoun", kNames).front(), "peak.liveCount");
}

TEST(NearNames, GivesNoMoreThanThree) {
  EXPECT_EQ(near_names("ab", {"ab1", "ab2", "ab3", "ab4"}), (Names{"ab1", "ab2", "ab3"}));
}

TEST(NearNames, LeavesOutWhatIsFarOff) {
  EXPECT_TRUE(near_names("colour", kNames).empty());
}

TEST(NearNames, HasNothingForAHugeWord) {
  EXPECT_TRUE(near_names(std::string(1 << 20, 'x'), kNames).empty());
}

}  // namespace
}  // namespace heaptape::base
