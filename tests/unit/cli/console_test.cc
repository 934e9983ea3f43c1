#include "cli/console.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace heaptape::cli {
namespace {

class ConsoleTest : public testing::Test {
 protected:
  std::ostringstream out_;
  std::ostringstream err_;
  Console unwatched_{out_, err_, Console::Audience::kNobody};
  Console watched_{out_, err_, Console::Audience::kPerson};
};

TEST_F(ConsoleTest, PutsAnErrorOnOneLine) {
  EXPECT_EQ(unwatched_.fail("no folder 'a\nb'"), kExitUnusable);
  EXPECT_TRUE(err_.str().starts_with("heaptape: no folder ")) << err_.str();
  EXPECT_EQ(err_.str().find('\n'), err_.str().size() - 1);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ConsoleTest, FinishesWithTheExitCodeOfTheCommand) {
  EXPECT_EQ(unwatched_.finish(), kExitDone);
  EXPECT_EQ(unwatched_.finish(kExitFailed), kExitFailed);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ConsoleTest, FailsWhereResultsWereNotTaken) {
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(unwatched_.finish(kExitFailed), kExitUnusable);
  EXPECT_EQ(err_.str(), "heaptape: cannot write to standard output\n");
}

TEST_F(ConsoleTest, NotesOnlyWhatSomebodyWatches) {
  unwatched_.print_if_watched("unseen");
  EXPECT_EQ(err_.str(), "");
  watched_.print_if_watched("seen");
  EXPECT_EQ(err_.str(), "seen");
}

TEST_F(ConsoleTest, MarksANote) {
  unwatched_.print_note("there is more");
  EXPECT_EQ(err_.str(), "heaptape: note: there is more\n");
}

TEST_F(ConsoleTest, HasNoColoursUnlessItWritesToATerminal) {
  unwatched_.choose_colours(ColourChoice::kAuto);
  unwatched_.print_error("bad");
  EXPECT_EQ(err_.str(), "heaptape: bad\n");
  unwatched_.print_text("FAIL\n");
  EXPECT_EQ(out_.str(), "FAIL\n");
}

TEST_F(ConsoleTest, HasColoursWhereTheUserWantsThem) {
  unwatched_.choose_colours(ColourChoice::kAlways);
  unwatched_.print_error("bad");
  EXPECT_EQ(err_.str(), "\033[31mheaptape: bad\033[0m\n");
}

TEST_F(ConsoleTest, ColoursLinesByWhatTheySay) {
  unwatched_.choose_colours(ColourChoice::kAlways);
  unwatched_.print_text("FAIL  a\nPASS  b\n\nplain\n  note: c\n");
  EXPECT_EQ(out_.str(),
            "\033[31mFAIL  a\033[0m\n\033[32mPASS  b\033[0m\n\nplain\n"
            "\033[33m  note: c\033[0m\n");
}

TEST_F(ConsoleTest, HasNoColoursWhereTheUserWantsNone) {
  unwatched_.choose_colours(ColourChoice::kAlways);
  unwatched_.choose_colours(ColourChoice::kNever);
  unwatched_.print_text("FAIL\n");
  EXPECT_EQ(out_.str(), "FAIL\n");
}

// With the environment as given.
bool wants_colours_in(const char* terminal, const char* no_color, bool is_terminal) {
  setenv("TERM", terminal, 1);
  setenv("NO_COLOR", no_color, 1);
  const bool wants = wants_colours(ColourChoice::kAuto, is_terminal);
  unsetenv("NO_COLOR");
  return wants;
}

TEST(Colours, AreForTerminalsThatHaveThemAndUsersThatWantThem) {
  EXPECT_TRUE(wants_colours_in("xterm", "", true));
  EXPECT_FALSE(wants_colours_in("xterm", "", false));
  EXPECT_FALSE(wants_colours_in("dumb", "", true));
  EXPECT_FALSE(wants_colours_in("xterm", "1", true));
}

constexpr uint64_t kSecond = 1'000'000'000;

TEST(TimeLeft, IsWhatTheRestTakesAtTheSamePace) {
  EXPECT_EQ(time_left_text(10 * kSecond, 0.5), ", 11 s left");
  EXPECT_EQ(time_left_text(60 * kSecond, 0.25), ", 4 min left");
  EXPECT_EQ(time_left_text(600 * kSecond, 0.05), ", 3 h 11 min left");
}

TEST(TimeLeft, IsNotGuessedFromLittle) {
  EXPECT_EQ(time_left_text(kSecond / 2, 0.5), "");
  EXPECT_EQ(time_left_text(10 * kSecond, 0.01), "");
  EXPECT_EQ(time_left_text(10 * kSecond, 0), "");
  EXPECT_EQ(time_left_text(10 * kSecond, 1), "");
}

TEST_F(ConsoleTest, ShowsNoProgressOfWorkThatIsSoonDone) {
  Progress(watched_, "counting").show(0.5);
  EXPECT_EQ(err_.str(), "");
}

}  // namespace
}  // namespace heaptape::cli
