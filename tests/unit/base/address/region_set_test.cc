#include "base/address/region_set.h"

#include <gtest/gtest.h>

namespace heaptape::base {
namespace {

using Ranges = std::vector<AddressRange>;

class RegionSetTest : public testing::Test {
 protected:
  RegionSet regions_;
};

TEST_F(RegionSetTest, JoinsCommitsThatTouch) {
  regions_.add({0x1000, 0x2000});
  regions_.add({0x3000, 0x4000});
  regions_.add({0x2000, 0x3000});
  EXPECT_EQ(regions_.ranges(), (Ranges{{0x1000, 0x4000}}));
  EXPECT_EQ(regions_.bytes(), 0x3000u);
}

TEST_F(RegionSetTest, KeepsCommitsApartThatDoNotTouch) {
  regions_.add({0x5000, 0x6000});
  regions_.add({0x1000, 0x2000});
  EXPECT_EQ(regions_.ranges(), (Ranges{{0x1000, 0x2000}, {0x5000, 0x6000}}));
}

TEST_F(RegionSetTest, CountsCommitsThatOverlapOnce) {
  regions_.add({0x2000, 0x4000});
  regions_.add({0x6000, 0x7000});
  regions_.add({0x1000, 0x8000});
  regions_.add({0x3000, 0x5000});
  EXPECT_EQ(regions_.ranges(), (Ranges{{0x1000, 0x8000}}));
  EXPECT_EQ(regions_.bytes(), 0x7000u);
}

TEST_F(RegionSetTest, SplitsOnADecommitInTheMiddle) {
  regions_.add({0x1000, 0x5000});
  regions_.remove({0x2000, 0x3000});
  EXPECT_EQ(regions_.ranges(), (Ranges{{0x1000, 0x2000}, {0x3000, 0x5000}}));
  EXPECT_EQ(regions_.bytes(), 0x3000u);
}

TEST_F(RegionSetTest, DecommitsAcrossRegions) {
  regions_.add({0x1000, 0x3000});
  regions_.add({0x4000, 0x5000});
  regions_.add({0x6000, 0x8000});
  regions_.remove({0x2000, 0x7000});
  EXPECT_EQ(regions_.ranges(), (Ranges{{0x1000, 0x2000}, {0x7000, 0x8000}}));
  EXPECT_EQ(regions_.bytes(), 0x2000u);
}

TEST_F(RegionSetTest, IgnoresADecommitOfWhatIsNotCommitted) {
  regions_.add({0x1000, 0x2000});
  regions_.remove({0x2000, 0x9000});
  regions_.remove({0, 0x1000});
  EXPECT_EQ(regions_.ranges(), (Ranges{{0x1000, 0x2000}}));
}

TEST_F(RegionSetTest, IgnoresEmptyRanges) {
  regions_.add({0x1000, 0x1000});
  regions_.add({0x2000, 0x1000});
  EXPECT_TRUE(regions_.ranges().empty());
  EXPECT_EQ(regions_.bytes(), 0u);
}

TEST_F(RegionSetTest, FindsTheRegionOfAnAddress) {
  regions_.add({0x1000, 0x2000});
  regions_.add({0x3000, 0x4000});
  EXPECT_EQ(regions_.find(0x1000), (AddressRange{0x1000, 0x2000}));
  EXPECT_EQ(regions_.find(0x3fff), (AddressRange{0x3000, 0x4000}));
  EXPECT_EQ(regions_.find(0x2000), AddressRange{});
  EXPECT_EQ(regions_.find(0xfff), AddressRange{});
}

TEST_F(RegionSetTest, FindsNoRegionThatIsGone) {
  regions_.add({0x1000, 0x3000});
  EXPECT_EQ(regions_.find(0x1000).end, 0x3000u);
  regions_.remove({0x2000, 0x3000});
  EXPECT_EQ(regions_.find(0x1000).end, 0x2000u);
  EXPECT_EQ(regions_.find(0x2000), AddressRange{});
}

TEST_F(RegionSetTest, VisitsRegionsThatTouchAWindow) {
  for (const uint64_t begin : {0x1000u, 0x3000u, 0x5000u, 0x7000u}) {
    regions_.add({begin, begin + 0x1000});
  }
  Ranges seen;
  regions_.for_each_touching({0x4000, 0x5000},
                             [&](AddressRange region) { seen.push_back(region); });
  EXPECT_EQ(seen, (Ranges{{0x3000, 0x4000}, {0x5000, 0x6000}}));
}

}  // namespace
}  // namespace heaptape::base
