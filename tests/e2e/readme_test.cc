// README.md: it is short, its links lead somewhere, and its commands run and print what it says.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/golden.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostWords = 600;
constexpr char kCut[] = "…";

const fs::path kRoot = fs::path(tests::golden_path("../..")).lexically_normal();

std::string page() {
  return tests::read_bytes(kRoot / "README.md");
}

struct Command {
  std::string text;
  std::vector<std::string> shown;  // lines of its output; "…" where something is cut
};

// Those of the page that show their output.
std::vector<Command> commands_with_output() {
  std::vector<Command> commands;
  bool is_console = false;
  for (const std::string& line : tests::lines_of(page())) {
    if (line.starts_with("```")) {
      is_console = line == "```console";
    } else if (is_console && line.starts_with("$ ")) {
      commands.push_back({line.substr(2), {}});
    } else if (is_console) {
      commands.back().shown.push_back(line);
    }
  }
  return commands;
}

bool is_shown_by(const std::string& shown, const std::string& printed) {
  const size_t cut = shown.find(kCut);
  if (cut == std::string::npos) return shown == printed;
  return printed.starts_with(shown.substr(0, cut));
}

// The lines that were printed before the next one that is shown are cut.
void expect_prints(const std::vector<std::string>& shown, const std::string& printed) {
  const std::vector<std::string> lines = tests::lines_of(printed);
  size_t at = 0;
  for (const std::string& line : shown) {
    if (line.find_first_not_of(' ') == std::string::npos ||
        line.find(kCut) == line.find_first_not_of(' '))
      continue;
    while (at < lines.size() && !is_shown_by(line, lines[at])) ++at;
    ASSERT_LT(at, lines.size()) << "not printed, or not in this order: " << line << "\n" << printed;
    ++at;
  }
}

TEST(Readme, HasAtMostSixHundredWords) {
  EXPECT_LE(tests::words_of(page()).size(), kMostWords);
}

// The program that it records is any; the output is that of the tape of Redis in docs/questions.
TEST(Readme, SaysWhatItsCommandsPrint) {
  const tests::TempDir dir;
  std::ofstream(dir.file("server")) << "#!/bin/sh\nexec sort /etc/passwd\n";
  fs::permissions(dir.file("server"), fs::perms::owner_all);
  const std::vector<Command> commands = commands_with_output();
  ASSERT_EQ(commands.size(), 3u);
  for (const Command& command : commands) {
    const auto ended = tests::run({.words = tests::words_of(command.text), .folder = dir.path()});
    ASSERT_EQ(ended.status, 0) << ended.describe();
    expect_prints(command.shown, ended.out);
    ASSERT_TRUE(fs::exists(dir.file("run.tape")));
    fs::copy_file(kRoot / "docs/questions/redis.tape", dir.file("run.tape"),
                  fs::copy_options::overwrite_existing);
  }
  EXPECT_TRUE(fs::exists(dir.file("report.html")));
}

TEST(Readme, NamesCommandsOfDevThatThereAre) {
  const std::string dev = tests::read_bytes(kRoot / "dev");
  const std::string text = page();
  const std::regex command("\n    \\./dev ([a-z]+)");
  size_t count = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), command), end; at != end; ++at, ++count) {
    EXPECT_NE(dev.find("\n  " + (*at)[1].str() + ") "), std::string::npos) << at->str();
  }
  EXPECT_EQ(count, 3u);
}

TEST(Readme, HasLinksThatLeadSomewhere) {
  const std::string text = page();
  const std::regex link("\\]\\(([^)#]+)(#[^)]*)?\\)");
  size_t count = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at, ++count) {
    if (!(*at)[1].str().starts_with("http")) {
      EXPECT_TRUE(fs::exists(kRoot / (*at)[1].str())) << at->str();
    }
  }
  EXPECT_GT(count, 10u);
}

}  // namespace
}  // namespace heaptape
