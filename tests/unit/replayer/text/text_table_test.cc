#include "replayer/text/text_table.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

const std::vector<TableRow> kRows = {
    {"site", "peak", "calls", "slack"}, {"a", "12 KiB", "7", "1 B"}, {"bcde", "1 B", "123", "-"}};

TEST(TextTable, HasAllColumnsIfThereIsRoom) {
  EXPECT_EQ(aligned(kRows),
            "site    peak  calls  slack\n"
            "a     12 KiB      7    1 B\n"
            "bcde     1 B    123      -\n");
  EXPECT_EQ(aligned_within(26, kRows, {2}), aligned(kRows));
}

TEST(TextTable, LeavesOutTheLeastColumnsFirst) {
  EXPECT_EQ(aligned_within(25, kRows, {2}),
            "site    peak  slack\n"
            "a     12 KiB    1 B\n"
            "bcde     1 B      -\n"
            "... and 1 column more: --wide shows all\n");
}

TEST(TextTable, ThenLeavesOutTheLastOnes) {
  EXPECT_EQ(aligned_within(18, kRows, {2}),
            "site    peak\n"
            "a     12 KiB\n"
            "bcde     1 B\n"
            "... and 2 columns more: --wide shows all\n");
}

TEST(TextTable, KeepsTwoColumnsWhateverTheWidth) {
  EXPECT_EQ(aligned_within(1, kRows, {}), aligned_within(18, kRows, {2}));
}

TEST(TextTable, HasLinesByThemselves) {
  EXPECT_EQ(aligned({{"a", "1"}, {"a line of its own"}, {"b", "22"}}, "  "),
            "  a   1\n  a line of its own\n  b  22\n");
}

}  // namespace
}  // namespace heaptape::replayer
