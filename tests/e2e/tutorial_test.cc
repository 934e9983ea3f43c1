// docs/tutorial.md: its commands, as they are written, in an empty folder with the program of the
// page, print what the page says. Times differ from run to run: the page has "…" for them. So do
// samples of the process: the page leaves them out.
// HEAPTAPE_UPDATE_GOLDEN=1 rewrites what the commands print; look at the change, and at the
// sentences around it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>

#include "base/output_file.h"
#include "tests/support/golden.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

namespace fs = std::filesystem;

const fs::path kDocs = fs::path(tests::golden_path("../../docs")).lexically_normal();
constexpr char kFence[] = "```console\n";

// With each time, and what is computed of it, replaced by "…", and without samples of the process.
std::string without_times(std::string text) {
  const std::pair<std::regex, std::string> rules[] = {
      {std::regex("(time\\.nsPerEvent)[^\n]*"), "$1  …"},
      {std::regex("(#[0-9,]+)(, [0-9.]+ (s|ms))?: "), "$1, …: "},
      {std::regex("( of [0-9,]+ calls)(, [0-9.]+ (s|ms))?\n"), "$1, …\n"},
      {std::regex(" +[0-9.,]+ (ns|us|ms|s)\n"), "  …\n"},
      {std::regex("\n *process[,:] [^\n]* anonymous = malloc [^\n]*"), ""},
  };
  for (const auto& [pattern, replacement] : rules) {
    text = std::regex_replace(text, pattern, replacement);
  }
  return text;
}

class Tutorial : public testing::Test {
 protected:
  Tutorial() { fs::copy(kDocs / "tutorial/gateway.c", dir_.file("gateway.c")); }

  std::string printed(const std::string& command) {
    const std::string bin = fs::path(tests::heaptape_path()).parent_path().string();
    const tests::Ended ended =
        tests::run_command({.words = {"sh", "-c", command},
                            .environment = {"PATH=" + bin + ":" + std::getenv("PATH")},
                            .folder = dir_.path()});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    // Whether libc has debug information differs from machine to machine.
    const std::regex no_debug_files(
        "heaptape: note: there is no debug information for [^\n]*libc[^\n]*\n");
    EXPECT_EQ(std::regex_replace(ended.err, no_debug_files, ""), "") << command;
    return without_times(ended.out);
  }
  // What the commands of a block print: lines that begin with "$ ", and go on after a backslash.
  std::string run_block(const std::string& block) {
    std::string now;
    for (size_t at = 0; at < block.size();) {
      size_t end = block.find('\n', at);
      const bool is_command = block.compare(at, 2, "$ ") == 0;
      while (is_command && block[end - 1] == '\\') end = block.find('\n', end + 1);
      if (is_command) {
        now += block.substr(at, end + 1 - at) + printed(block.substr(at + 2, end - at - 2));
        ++commands_;
      }
      at = end + 1;
    }
    return now;
  }

  tests::TempDir dir_;
  int commands_ = 0;
};

TEST_F(Tutorial, SaysWhatItsCommandsPrint) {
  if (const std::string why = tests::not_glibc_2_36(); !why.empty()) GTEST_SKIP() << why;
  std::string page = tests::read_bytes(kDocs / "tutorial.md");
  for (size_t at = 0; (at = page.find(kFence, at)) != std::string::npos;) {
    at += sizeof kFence - 1;
    const std::string block = page.substr(at, page.find("```\n", at) - at);
    const std::string now = run_block(block);
    if (std::getenv("HEAPTAPE_UPDATE_GOLDEN") == nullptr) {
      EXPECT_EQ(now, block);
    }
    page.replace(at, block.size(), now);
    at += now.size();
  }
  EXPECT_GE(commands_, 9);
  if (std::getenv("HEAPTAPE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(base::write_file(kDocs / "tutorial.md", page).ok());
  }
}

// The code that the page shows is the program's.
TEST_F(Tutorial, ShowsTheProgramAsItIs) {
  const std::string page = tests::read_bytes(kDocs / "tutorial.md");
  const std::string program = tests::read_bytes(kDocs / "tutorial/gateway.c");
  constexpr char kCode[] = "```c\n";
  int pieces = 0;
  for (size_t at = 0; (at = page.find(kCode, at)) != std::string::npos; ++pieces) {
    at += sizeof kCode - 1;
    const std::string code = page.substr(at, page.find("```\n", at) - at);
    EXPECT_NE(program.find(code), std::string::npos) << code;
  }
  EXPECT_EQ(pieces, 3);
}

TEST(TutorialTimes, AreLeftOut) {
  EXPECT_EQ(without_times("peak: #4,000, 0.087 s: 15.5 MiB\nend: #4: 1 B\n"),
            "peak: #4,000, …: 15.5 MiB\nend: #4, …: 1 B\n");
  EXPECT_EQ(without_times("after #4 of 46,000 calls, 0.136 s\n"), "after #4 of 46,000 calls, …\n");
  EXPECT_EQ(without_times("x  15.5 MiB   1.00      137.9 ns\n"), "x  15.5 MiB   1.00  …\n");
  EXPECT_EQ(without_times("  time.nsPerEvent  27 ns  26 ns  -1 ns  -0.6%\n"),
            "  time.nsPerEvent  …\n");
  EXPECT_EQ(without_times("15.5 MiB in 3 blocks\n"), "15.5 MiB in 3 blocks\n");
  EXPECT_EQ(
      without_times("end: #4: 1 B\n  process, 2.0 ms before: 3 B anonymous = malloc 2 B + beside "
                    "malloc 1 B\nrest"),
      "end: #4, …: 1 B\nrest");
}

}  // namespace
}  // namespace heaptape
