#include "cli/tape_reading.h"

#include <gtest/gtest.h>

namespace heaptape::cli {
namespace {

TEST(LossesText, NamesTheCausesThatThereAre) {
  schema::TapeSummary summary;
  schema::TapeLosses& losses = summary.losses;
  losses.lost_events = 1234;
  losses.causes = {.ring_full = 1, .recorder_stopped = 2, .no_ring = 3, .left_hooks = 4};
  EXPECT_NE(
      losses_text(summary).find("1,234 calls not recorded (1 because the recorder fell behind, "
                                "2 because the recorder stopped, 3 without a ring buffer, "
                                "4 in or after signal handlers that interrupted malloc), "),
      std::string::npos)
      << losses_text(summary);
  losses.causes = {};
  EXPECT_NE(losses_text(summary).find("1,234 calls not recorded, "), std::string::npos);
}

TEST(LossesText, NamesAllocatorsThatWereNotSeen) {
  schema::TapeSummary summary;
  EXPECT_EQ(losses_text(summary), "none");
  summary.inner_allocators = {{"/bin/a", {"jemalloc"}}};
  EXPECT_EQ(losses_text(summary), "none; not seen: calls to jemalloc inside '/bin/a'");
  summary.inner_allocators[0].families[0] = "a\x1b[2J\n";
  EXPECT_EQ(losses_text(summary).find_first_of("\x1b\n"), std::string::npos);
  summary.inner_allocators[0].families[0] = "jemalloc";
  summary.inner_allocators.push_back({"/lib/b", {"mimalloc", "tcmalloc"}});
  EXPECT_EQ(losses_text(summary),
            "none; not seen: calls to jemalloc inside '/bin/a' and to allocators inside 1 other "
            "file");
  std::swap(summary.inner_allocators[0], summary.inner_allocators[1]);
  summary.losses.lost_ranges = 1;
  EXPECT_TRUE(losses_text(summary).ends_with(
      "1 damaged stretch omitted; not seen: calls to mimalloc and tcmalloc inside '/lib/b' and to "
      "allocators inside 1 other file"));
}

}  // namespace
}  // namespace heaptape::cli
