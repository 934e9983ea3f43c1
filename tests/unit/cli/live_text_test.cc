#include "cli/live_text.h"

#include <gtest/gtest.h>

namespace heaptape::cli {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

recorder::LiveFigures some_figures() {
  recorder::LiveFigures figures;
  figures.time_ns = 75 * kSecondNs + 1;
  figures.processes = 3;
  figures.ended_processes = 1;
  figures.calls = 12'345'678;
  figures.calls_per_second = 4'123'456.4;
  figures.live_bytes = 3 << 20;
  figures.live_blocks = 1234;
  figures.resident_bytes = 5 << 20;
  figures.growth = {65, 128, 1 << 20, 60 * kSecondNs};
  figures.tape_bytes = 2 << 20;
  figures.tape_calls = 1 << 23;
  figures.stalls = 2;
  figures.stall_ns = 1'500'000;
  figures.lost = 7;
  return figures;
}

TEST(LiveText, SaysOneThingALine) {
  const std::vector<std::string> expected = {
      "heaptape  75 s, 3 processes, 1 ended",
      "live      3.00 MiB in 1,234 blocks",
      "growth    +1.00 MiB in 60 s, in blocks of 65 to 128 bytes",
      "resident  5.00 MiB",
      "calls     12,345,678, 4,123,456 per second",
      "tape      2.00 MiB, 0.25 bytes per call",
      "stalls    2 (1.50 ms), lost 7 calls",
  };
  EXPECT_EQ(live_lines(some_figures()), expected);
}

TEST(LiveText, SaysAllInOneLine) {
  EXPECT_EQ(
      live_line(some_figures()),
      "heaptape: 75 s: live 3.00 MiB in 1,234 blocks; growth +1.00 MiB in 60 s, in blocks of 65 "
      "to 128 bytes; resident 5.00 MiB; 12,345,678 calls, 4,123,456/s; tape 2.00 MiB, 0.25 "
      "bytes/call; stalls 2 (1.50 ms); lost 7; 3 processes, 1 ended");
}

TEST(LiveText, SaysWhatIsNotKnown) {
  recorder::LiveFigures figures;
  figures.is_last = true;
  EXPECT_EQ(live_line(figures),
            "heaptape: at the end, 0 s: live 0 B in 0 blocks; growth none; resident not known; 0 "
            "calls, 0/s; tape 0 B; stalls 0; lost 0; 0 processes");
}

TEST(LiveText, NamesTheBandOfTheLargestBlocks) {
  recorder::LiveFigures figures;
  figures.growth = {(uint64_t{8} << 60) + 1, UINT64_MAX, 512, kSecondNs};
  EXPECT_EQ(live_lines(figures)[2],
            "growth    +512 B in 1 s, in blocks of over 9,223,372,036,854,775,808 bytes");
}

}  // namespace
}  // namespace heaptape::cli
