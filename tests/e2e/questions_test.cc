// docs/questions/README.md: every command prints what the page says. HEAPTAPE_UPDATE_GOLDEN=1
// rewrites what it prints; look at the change, and at the sentences around it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/output_file.h"
#include "tests/support/golden.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(tests::golden_path("../../docs/questions")).lexically_normal();
constexpr char kCommandFence[] = "```console\n$ ";

std::string page_text() {
  return tests::read_bytes(kFolder / "README.md");
}

class QuestionsPage : public testing::Test {
 protected:
  QuestionsPage() {
    for (const auto& entry : fs::directory_iterator(kFolder)) {
      if (entry.path().extension() != ".tape") continue;
      fs::create_symlink(entry.path(), dir_.file(entry.path().filename()));
    }
    tests::run({"heaptape", "scenario", "sliver-pin", "-o", dir_.file("sliver.tape")});
  }

  std::string printed(const std::string& command) {
    const auto ended = tests::run({.words = tests::words_of(command), .folder = dir_.path()});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return ended.out;
  }

  // Calls visit(command, text below it) for each of the page, in order; what it returns takes the
  // place of that text.
  template <typename Visit>
  std::string rewritten(Visit visit) {
    std::string page = page_text();
    size_t at = 0;
    while ((at = page.find(kCommandFence, at)) != std::string::npos) {
      at += sizeof kCommandFence - 1;
      const size_t line_end = page.find('\n', at);
      const size_t end = page.find("```\n", line_end);
      const std::string text = page.substr(line_end + 1, end - line_end - 1);
      const std::string now = visit(page.substr(at, line_end - at), text);
      page.replace(line_end + 1, text.size(), now);
      at = line_end + 1 + now.size();
    }
    return page;
  }

  tests::TempDir dir_;
};

TEST_F(QuestionsPage, SaysWhatItsCommandsPrint) {
  int commands = 0;
  const std::string page = rewritten([&](const std::string& command, const std::string& text) {
    ++commands;
    std::string now = printed(command);
    if (std::getenv("HEAPTAPE_UPDATE_GOLDEN") == nullptr) {
      EXPECT_EQ(now, text) << command;
    }
    return now;
  });
  EXPECT_GE(commands, 6);
  if (std::getenv("HEAPTAPE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(base::write_file(kFolder / "README.md", page).ok());
  }
}

// The account and the estimates alone: addresses are another process's, and threads that race for
// arenas are not in this.
TEST_F(QuestionsPage, SaysOfGlibcWhatItSaysOfItsModel) {
  if (const auto why = tests::not_glibc_2_36(); !why.empty()) GTEST_SKIP() << why;
  const auto account = [](const std::string& text) {
    return text.substr(text.find("\n\n"), text.find("which blocks") - text.find("\n\n"));
  };
  for (const char* const tape : {"redis.tape", "python.tape", "compiler.tape", "growth.tape"}) {
    const std::string begin = std::string("heaptape explain ") + tape;
    EXPECT_EQ(account(printed(begin + " -a glibc")),
              account(printed(begin + " -a model:ptmalloc")));
  }
}

}  // namespace
}  // namespace heaptape
