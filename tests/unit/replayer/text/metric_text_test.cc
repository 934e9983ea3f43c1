#include "replayer/text/metric_text.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

using schema::MetricUnit;
using schema::MetricValue;

MetricValue integer(uint64_t value) {
  return value;
}
MetricValue real(double value) {
  return value;
}

TEST(ValueText, FollowsTheUnit) {
  EXPECT_EQ(value_text(integer(2048), MetricUnit::kBytes), "2.00 KiB");
  EXPECT_EQ(value_text(integer(2048), MetricUnit::kCount), "2,048");
  EXPECT_EQ(value_text(real(0.375), MetricUnit::kRatio), "0.3750");
  EXPECT_EQ(value_text(real(81.25), MetricUnit::kNs), "81.2 ns");
}

TEST(ValueText, MarksWhatIsNotThere) {
  EXPECT_EQ(value_text({}, MetricUnit::kBytes), "-");
}

TEST(ValueText, ShowsNegativeRatios) {
  EXPECT_EQ(value_text(real(-0.25), MetricUnit::kRatio), "-0.2500");
}

TEST(ExactText, RoundsNoInteger) {
  EXPECT_EQ(exact_text(static_cast<long double>(UINT64_MAX), MetricUnit::kBytes),
            "18,446,744,073,709,551,615 B");
}

TEST(ExactText, ShowsThePartsOfALimit) {
  EXPECT_EQ(exact_text(105.25L, MetricUnit::kBytes), "105.25 B");
  EXPECT_EQ(exact_text(-1024, MetricUnit::kCount), "-1,024");
}

TEST(ChangeText, HasASign) {
  EXPECT_EQ(change_text(integer(1024), integer(3072), MetricUnit::kBytes), "+2.00 KiB");
  EXPECT_EQ(change_text(integer(10), integer(7), MetricUnit::kCount), "-3");
  EXPECT_EQ(change_text(real(0.5), real(0.25), MetricUnit::kRatio), "-0.2500");
}

TEST(ChangeText, IsZeroWithoutAUnit) {
  EXPECT_EQ(change_text(integer(5), integer(5), MetricUnit::kBytes), "0");
}

TEST(ChangeText, IsExactWhereDoublesAreNot) {
  EXPECT_EQ(change_text(integer(UINT64_MAX - 1), integer(UINT64_MAX), MetricUnit::kCount), "+1");
}

TEST(ChangeText, NeedsBothSides) {
  EXPECT_EQ(change_text(integer(5), {}, MetricUnit::kBytes), "-");
}

TEST(PercentText, ComparesWithTheBase) {
  EXPECT_EQ(percent_text(integer(100), integer(105)), "+5.00%");
  EXPECT_EQ(percent_text(integer(3), integer(2)), "-33.33%");
  EXPECT_EQ(percent_text(integer(7), integer(7)), "0.00%");
}

TEST(PercentText, SaysThatTheBaseWasZero) {
  EXPECT_EQ(percent_text(integer(0), integer(5)), "from 0");
  EXPECT_EQ(percent_text(integer(0), integer(0)), "0.00%");
}

TEST(HeadingOf, IsTheWordsOfTheName) {
  EXPECT_EQ(heading_of("atPeak.residentHoleBytes").group, "at peak");
  EXPECT_EQ(heading_of("atPeak.residentHoleBytes").name, "resident hole");
  EXPECT_EQ(heading_of("peak.distanceToIdeal").name, "distance to ideal");
  EXPECT_EQ(heading_of("atPlateau.account.purgeableBytes").group, "at plateau");
  EXPECT_EQ(heading_of("atPlateau.account.purgeableBytes").name, "purgeable");
}

TEST(HeadingOf, AMetricWithoutGroupIsItsNameAlone) {
  EXPECT_EQ(heading_of("temporaries").group, "");
  EXPECT_EQ(heading_of("temporaries").name, "temporaries");
}

}  // namespace
}  // namespace heaptape::replayer
