#include "cli/terminal_panel.h"

#include <gtest/gtest.h>

#include "tests/support/fake_terminal.h"

namespace heaptape::cli {
namespace {

using Rows = std::vector<std::string>;

constexpr TerminalSize kSize{8, 20};

class TerminalPanelTest : public testing::Test {
 protected:
  void show(const Rows& lines, TerminalSize size = kSize) {
    terminal.write(panel.show(lines, size));
  }

  tests::FakeTerminal terminal{kSize.rows, kSize.columns};
  TerminalPanel panel;
};

TEST_F(TerminalPanelTest, StandsBelowWhatTheProgramPrints) {
  terminal.write("one\r\ntwo");
  show({"A", "B"});
  terminal.write(" more\r\nthree");
  EXPECT_EQ(terminal.screen(), (Rows{"one", "two more", "three", "", "", "", "A", "B"}));
}

TEST_F(TerminalPanelTest, MovesUpWhatStandsAtTheBottom) {
  terminal.write("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8");
  show({"A", "B"});
  EXPECT_EQ(terminal.screen(), (Rows{"3", "4", "5", "6", "7", "8", "A", "B"}));
  EXPECT_EQ(terminal.scrolled_off(), (Rows{"1", "2"}));
  EXPECT_EQ(terminal.column(), 1);
}

TEST_F(TerminalPanelTest, LosesNoLineThatScrolls) {
  show({"A", "B"});
  for (int i = 1; i <= 20; ++i) {
    terminal.write(std::to_string(i) + "\r\n");
    show({"A" + std::to_string(i), "B"});
  }
  Rows seen = terminal.scrolled_off();
  const Rows screen = terminal.screen();
  seen.insert(seen.end(), screen.begin(), screen.end());
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(seen[static_cast<size_t>(i - 1)], std::to_string(i));
  EXPECT_EQ(screen[6], "A20");
}

TEST_F(TerminalPanelTest, ReplacesALongerLine) {
  show({"a long line", "B"});
  show({"short", "B"});
  EXPECT_EQ(terminal.screen()[6], "short");
}

TEST_F(TerminalPanelTest, CutsLinesToTheWidth) {
  show({"0123456789012345678901234", "B"});
  EXPECT_EQ(terminal.screen()[6], "01234567890123456789");
  EXPECT_EQ(terminal.screen()[7], "B");
}

TEST_F(TerminalPanelTest, LeavesTheProgramFiveRows) {
  show({"A", "B", "C", "D", "E"});
  EXPECT_EQ(terminal.screen(), (Rows{"", "", "", "", "", "A", "B", "C"}));
}

TEST_F(TerminalPanelTest, ShowsNothingWhereThereIsNoRoom) {
  EXPECT_EQ(panel.show({"A"}, {5, 80}), "");
  EXPECT_EQ(panel.take_down(), "");
}

TEST_F(TerminalPanelTest, GivesAllRowsBack) {
  terminal.write("one\r\ntwo");
  show({"A", "B"});
  terminal.write(panel.take_down());
  EXPECT_EQ(terminal.screen(), (Rows{"one", "two", "", "", "", "", "", ""}));
  EXPECT_FALSE(terminal.has_scrolling_region());
  EXPECT_EQ(terminal.row(), 1);
  EXPECT_EQ(terminal.column(), 3);
}

TEST_F(TerminalPanelTest, StandsAtTheBottomOfANewSize) {
  show({"A", "B"}, {7, 20});
  show({"A", "B"});
  EXPECT_EQ(terminal.screen(), (Rows{"", "", "", "", "", "", "A", "B"}));
}

}  // namespace
}  // namespace heaptape::cli
