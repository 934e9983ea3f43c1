#include "cli/tape_reading.h"

#include <gtest/gtest.h>

namespace heaptape::cli {
namespace {

TEST(LossesText, NamesTheCausesThatThereAre) {
  schema::TapeLosses losses;
  losses.lost_events = 1234;
  losses.causes = {.ring_full = 1, .recorder_stopped = 2, .no_ring = 3, .left_hooks = 4};
  EXPECT_NE(
      losses_text(losses).find("1,234 calls not recorded (1 because the recorder fell behind, "
                               "2 because the recorder stopped, 3 without a ring buffer, "
                               "4 in or after signal handlers that interrupted malloc), "),
      std::string::npos)
      << losses_text(losses);
  losses.causes = {};
  EXPECT_NE(losses_text(losses).find("1,234 calls not recorded, "), std::string::npos);
}

}  // namespace
}  // namespace heaptape::cli
