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

TEST(NearNames, ForgiveMistakesInTheLastPart) {
  EXPECT_EQ(near_names("livBytes", kNames).size(), 2u);
  EXPECT_EQ(near_names("ptmaloc", {"model:ptmalloc", "jemalloc"}).front(), "model:ptmalloc");
}

TEST(NearNames, HaveALetterInCommonWithWhatWasTyped) {
  EXPECT_TRUE(near_names("y", {"x"}).empty());
  EXPECT_TRUE(near_names("", {"a", "ab"}).empty());
}

TEST(DidYouMean, ListsTheNearNamesForTheInsideOfASentence) {
  EXPECT_EQ(did_you_mean("ab", {"ab1", "ab2"}), " (did you mean ab1 or ab2?)");
  EXPECT_EQ(did_you_mean("ab", {"ab1", "ab2", "ab3"}), " (did you mean ab1, ab2 or ab3?)");
  EXPECT_EQ(did_you_mean("colour", kNames), "");
}

TEST(NearNames, LeavesOutWhatIsFarOff) {
  EXPECT_TRUE(near_names("colour", kNames).empty());
}

TEST(NearNames, HasNothingForAHugeWord) {
  EXPECT_TRUE(near_names(std::string(1 << 20, 'x'), kNames).empty());
}

}  // namespace
}  // namespace heaptape::base
