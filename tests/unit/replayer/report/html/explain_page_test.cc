#include "replayer/report/html/explain_page.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

// A page with holes of 896 and 1,936 bytes between blocks of #1, #2 and #900.
class PinsSentence : public testing::Test {
 protected:
  PinsSentence() {
    picture_.blocks = {
        {0x10010, 104, 100, 1, 0}, {0x10408, 56, 50, 2, 0}, {0x10bd0, 24, 7, 900, 0}};
    picture_.regions = {{0x10000, 0x11000}};
    picture_.absent.emplace();
  }
  std::string told() const { return pins_sentence(picture_, account_, nullptr); }

  HeapPicture picture_;
  Account account_{.hole_bytes = 1000};  // the rest is cached, or else the allocator's own
};

TEST_F(PinsSentence, IsAboutAllThatIsResidentInHoles) {
  EXPECT_EQ(told(),
            "100.0% of the 2.77 KiB resident in holes are beside 1 block of 50 bytes, born from #2 "
            "to #2.");
}

TEST_F(PinsSentence, SaysWhereCachedBlocksAreAmongTheHoles) {
  account_.cached_bytes = 1848;
  EXPECT_NE(told().find("2.77 KiB resident in holes, cached blocks included, are"),
            std::string::npos);
}

TEST_F(PinsSentence, LeavesOutWhatIsNotResident) {
  picture_.blocks = {{0x10010, 104, 100, 1, 0}, {0x14000, 56, 50, 2, 0}};
  picture_.regions = {{0x10000, 0x15000}};
  picture_.absent = {{{0x11000, 0x14000}}};
  EXPECT_NE(told().find("of the 3.88 KiB resident"), std::string::npos) << told();
}

TEST_F(PinsSentence, SaysNothingOfPagesThatMayNotBeResident) {
  picture_.absent.reset();
  EXPECT_NE(told().find("of the 2.77 KiB in holes are"), std::string::npos) << told();
}

TEST_F(PinsSentence, IsEmptyWithoutHoles) {
  picture_.blocks.clear();
  EXPECT_EQ(told(), "");
}

}  // namespace
}  // namespace heaptape::replayer
