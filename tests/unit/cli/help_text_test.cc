#include "cli/help_text.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptape::cli {
namespace {

TEST(HelpText, GoesOnBelowTheDescriptionOfAnOption) {
  EXPECT_EQ(wrap_help("  -o,--output TAPE   the tape that is written\n", 32),
            "  -o,--output TAPE   the tape\n"
            "                     that is\n"
            "                     written\n");
}

TEST(HelpText, GoesOnBelowTheBeginningOfOtherLines) {
  EXPECT_EQ(wrap_help("      record the stack of each call\n", 20),
            "      record the\n      stack of each\n      call\n");
  EXPECT_EQ(wrap_help("Replay a tape on allocators\n", 20), "Replay a tape on\nallocators\n");
}

TEST(HelpText, FillsLinesToTheLastColumn) {
  EXPECT_EQ(wrap_help("aaaa bbbb cccc dddd\n", 9), "aaaa bbbb\ncccc dddd\n");
  EXPECT_EQ(wrap_help("aaaa bbbb cccc dddd\n", 8), "aaaa\nbbbb\ncccc\ndddd\n");
}

TEST(HelpText, LeavesWhatFitsAndCommandsToTypeAsTheyAre) {
  const std::string text = "Usage: heaptape\n\nExample: heaptape record -o run.tape -- ./server\n";
  EXPECT_EQ(wrap_help(text, 20), text);
}

TEST(HelpText, HasNoBlanksAtTheEndsOfLines) {
  EXPECT_EQ(wrap_help("Replay a tape \n  \n", 20), "Replay a tape\n\n");
}

TEST(HelpText, KeepsWordsThatAreLongerThanALine) {
  EXPECT_EQ(wrap_help("  --sort=a|b|c|d|e|f|g  by it\n", 10),
            "  --sort=a|b|c|d|e|f|g  by\n                        it\n");
}

TEST(HelpText, KeepsCommandsInOneLine) {
  EXPECT_EQ(wrap_help("try it with `heaptape replay run.tape` or `true`\n", 20),
            "try it with\n`heaptape replay run.tape`\nor `true`\n");
  EXPECT_EQ(wrap_help("an odd ` and many words\n", 12), "an odd\n` and many words\n");
}

}  // namespace
}  // namespace heaptape::cli
