#include "cli/console.h"

#include <gtest/gtest.h>

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
  unwatched_.note("unseen");
  EXPECT_EQ(err_.str(), "");
  watched_.note("seen");
  EXPECT_EQ(err_.str(), "seen");
}

TEST_F(ConsoleTest, ShowsNoProgressOfWorkThatIsSoonDone) {
  Progress(watched_, "counting").show(0.5);
  EXPECT_EQ(err_.str(), "");
}

}  // namespace
}  // namespace heaptape::cli
