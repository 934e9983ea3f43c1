// The completions of shells and the manual pages, as `cmake --install` puts them down.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {
namespace {

using Words = std::vector<std::string>;

std::string printed(const Words& words) {
  const Ended ended = run(words);
  EXPECT_EQ(ended.status, 0) << ended.describe();
  return ended.out;
}

bool is_installed(const std::string& program) {
  return run_command({"sh", "-c", "command -v " + program}).status == 0;
}

class ShellFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_.file(name)) << text;
    return dir_.file(name);
  }
  std::string completion(const std::string& shell) const {
    return write(shell, printed({"heaptape", "completion", shell}));
  }
  // What bash proposes where the cursor is at the end of `line`, in the folder.
  Words proposals(const std::string& line) const {
    const Ended ended =
        run_command({.words = {"bash", "--norc", "-c",
                               "source \"$1\"; COMP_LINE=$2 COMP_POINT=${#2}; _heaptape; "
                               "printf '%s\\n' \"${COMPREPLY[@]}\"",
                               "bash", completion("bash"), line},
                     .folder = dir_.file("")});
    EXPECT_EQ(ended.err, "");
    Words lines = lines_of(ended.out);
    std::ranges::sort(lines);
    return lines;
  }

  TempDir dir_;
};

testing::AssertionResult has(const Words& words, const std::string& word) {
  if (std::ranges::find(words, word) != words.end()) return testing::AssertionSuccess();
  testing::AssertionResult failure = testing::AssertionFailure() << "no " << word << " in";
  for (const std::string& other : words) failure << " " << other;
  return failure;
}

TEST_F(ShellFiles, BashCompletesCommands) {
  EXPECT_EQ(proposals("heaptape re"), (Words{"record", "recover", "replay"}));
  EXPECT_TRUE(has(proposals("heaptape "), "explain"));
  EXPECT_TRUE(has(proposals("heaptape --color never "), "explain"));
}

TEST_F(ShellFiles, BashCompletesOptions) {
  EXPECT_EQ(proposals("heaptape record --o"), (Words{"--on-full", "--output"}));
  EXPECT_TRUE(has(proposals("heaptape stats run.tape --by site -"), "--sort"));
}

TEST_F(ShellFiles, BashCompletesTheWordsOfOptions) {
  EXPECT_EQ(proposals("heaptape export --format "),
            (Words{"android", "firefox", "folded", "malloclab", "mtrace", "perfetto", "pprof",
                   "speedscope"}));
  EXPECT_EQ(proposals("heaptape record --follow=a"), Words{"all"});
  EXPECT_EQ(proposals("heaptape record --stacks d"), Words{"dwarf"});
  EXPECT_EQ(proposals("heaptape stats --top "), Words{""});
}

// bash takes back what is behind the last of its own word breaks.
TEST_F(ShellFiles, BashCompletesAllocators) {
  EXPECT_EQ(proposals("heaptape replay run.tape -a je"), Words{"jemalloc"});
  EXPECT_EQ(proposals("heaptape replay run.tape -a glibc -a model:slab"), Words{"slabs"});
  EXPECT_TRUE(has(proposals("heaptape explain run.tape --allocator m"), "model:ptmalloc"));
}

TEST_F(ShellFiles, BashCompletesFilesAndFolders) {
  write("my run.tape", "");
  EXPECT_EQ(proposals("heaptape info my"), Words{"my run.tape"});
  EXPECT_EQ(proposals("heaptape replay x -o my"), Words{"my run.tape"});
  EXPECT_EQ(proposals("heaptape stats x --debug-dir my"), Words{""});
}

TEST_F(ShellFiles, BashCompletesEachReportToCompare) {
  write("main.json", "");
  EXPECT_EQ(proposals("heaptape diff ma"), Words{"main.json"});
  EXPECT_EQ(proposals("heaptape diff first.json second.json ma"), Words{"main.json"});
}

TEST_F(ShellFiles, BashCompletesScenarios) {
  EXPECT_EQ(proposals("heaptape scenario sliv"), Words{"sliver-pin"});
}

TEST_F(ShellFiles, BashCompletesFormatsOfTracesAndThenFiles) {
  write("my.trace", "");
  EXPECT_EQ(proposals("heaptape import heap"), Words{"heaptrack"});
  EXPECT_EQ(proposals("heaptape import heaptrack my"), Words{"my.trace"});
}

TEST_F(ShellFiles, BashCompletesTheCommandToRecordAndThenItsFiles) {
  write("some-input", "");
  EXPECT_TRUE(has(proposals("heaptape record -o x -- mkdi"), "mkdir"));
  EXPECT_TRUE(has(proposals("heaptape record mkdi"), "mkdir"));
  EXPECT_EQ(proposals("heaptape record -- mkdir some-"), Words{"some-input"});
}

TEST_F(ShellFiles, ZshReadsItsCompletion) {
  if (!is_installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  const Ended ended = run_command({"zsh", "-n", completion("zsh")});
  EXPECT_EQ(ended.status, 0) << ended.describe();
}

TEST_F(ShellFiles, ZshTakesAnOptionThatMayBeRepeatedAgain) {
  const std::string text = printed({"heaptape", "completion", "zsh"});
  EXPECT_NE(text.find("'*--allocator=["), std::string::npos);
  EXPECT_NE(text.find("'(-o --output)--output=["), std::string::npos);
}

TEST_F(ShellFiles, ZshTakesFoldersForFolders) {
  for (const std::string& line : lines_of(printed({"heaptape", "completion", "zsh"}))) {
    if (line.find("--debug-dir=") == std::string::npos) continue;
    EXPECT_NE(line.find(":_files -/'"), std::string::npos) << line;
  }
}

TEST_F(ShellFiles, FishCompletesCommandsOptionsAndWords) {
  if (!is_installed("fish")) GTEST_SKIP() << "fish is not installed";
  const std::string file = completion("fish");
  const auto proposed = [&](const std::string& line) {
    const Ended ended = run_command(
        {.words = {"fish", "--no-config", "-c",
                   "source '" + file + "'; complete -C '" + line + "' | string split -f1 \\t"},
         .environment = {"HOME=" + dir_.file("")}});
    EXPECT_EQ(ended.err, "");
    return lines_of(ended.out);
  };
  EXPECT_TRUE(has(proposed("heaptape rec"), "record"));
  EXPECT_TRUE(has(proposed("heaptape record --foll"), "--follow"));
  EXPECT_TRUE(has(proposed("heaptape export --format p"), "pprof"));
  EXPECT_TRUE(has(proposed("heaptape replay x -a mim"), "mimalloc"));
}

// --help is CLI11's own account of the same definitions.
TEST_F(ShellFiles, EachOptionIsInThePageOfItsCommand) {
  const std::regex name("(^|,)(--?[a-z-]+)");
  for (const std::string& page : lines_of(printed({"heaptape", "man", "list"}))) {
    Words words = {"heaptape", "--help"};
    if (page != "heaptape") words.insert(words.begin() + 1, page.substr(page.find('-') + 1));
    std::string text = printed({"heaptape", "man", page});
    std::erase(text, '\\');
    for (const std::string& line : lines_of(printed(words))) {
      if (!line.starts_with("  -")) continue;
      const std::string names = line.substr(2, line.find(' ', 2) - 2);
      for (std::sregex_iterator at(names.begin(), names.end(), name), end; at != end; ++at) {
        EXPECT_NE(text.find("fB" + (*at)[2].str() + "fR"), std::string::npos)
            << (*at)[2] << " is not in " << page;
      }
    }
  }
}

TEST_F(ShellFiles, ThereIsAPageForEachCommandOfTheList) {
  const Words pages = lines_of(printed({"heaptape", "man", "list"}));
  bool is_list = false;
  size_t commands = 0;
  for (const std::string& line : lines_of(printed({"heaptape", "--help"}))) {
    if (is_list && line.starts_with("  ") && line[2] != ' ') {
      EXPECT_TRUE(has(pages, "heaptape-" + line.substr(2, line.find(' ', 2) - 2)));
      ++commands;
    }
    is_list = is_list || tests::begins_commands(line);
  }
  EXPECT_EQ(commands + 1, pages.size());
}

TEST_F(ShellFiles, PagesAreSoundRoff) {
  if (!is_installed("man")) GTEST_SKIP() << "man is not installed";
  for (const std::string& page : lines_of(printed({"heaptape", "man", "list"}))) {
    const std::string file = write(page + ".1", printed({"heaptape", "man", page}));
    const Ended shown = run_command({.words = {"man", "--warnings", "-l", file},
                                     .environment = {"MANPAGER=cat", "MANWIDTH=80", "LC_ALL=C"}});
    EXPECT_EQ(shown.status, 0) << shown.describe();
    EXPECT_EQ(shown.err, "") << page;
    EXPECT_NE(shown.out.find("NAME"), std::string::npos) << page;
  }
}

// roff may make another character of a hyphen, and what is copied from the page is no option then.
TEST_F(ShellFiles, PagesHaveMinusSignsInOptions) {
  for (const std::string& page : lines_of(printed({"heaptape", "man", "list"}))) {
    const std::string text = printed({"heaptape", "man", page});
    EXPECT_NE(text.find("\\fB\\-\\-help\\fR"), std::string::npos) << page;
    EXPECT_EQ(text.find("\\fB-"), std::string::npos) << page;
  }
}

TEST_F(ShellFiles, APageIsNamedWhereItIsMisspelt) {
  expect_refusal(run({"heaptape", "man", "heaptape-recod"}), "did you mean heaptape-record");
  expect_refusal(run({"heaptape", "completion", "tcsh"}), "is not one of bash|fish|zsh");
}

}  // namespace
}  // namespace heaptape::tests
