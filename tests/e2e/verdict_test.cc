// `heaptape explain` without an allocator, and the same verdict in what `heaptape replay` writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "tests/support/programs.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::Ended;
using tests::expect_refusal;
using tests::run;

class VerdictCommand : public testing::Test {
 protected:
  VerdictCommand() { tests::write_sessions_tape(tape_); }

  Ended heaptape(const std::string& command, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"heaptape", command, tape_};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  }

  tests::TempDir dir_;
  const std::string tape_ = dir_.file("t.tape");
};

TEST_F(VerdictCommand, NamesWhoPinsAndWhatToDoInOneScreen) {
  const Ended ended = heaptape("explain");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(std::regex_search(
      ended.out, std::regex("^On glibc, which it ran with, the program keeps 3\\.[0-9]+ MiB at the "
                            "[a-z]+ for 4[0-9]\\.[0-9] KiB live\\.\n  1\\. [^\n]*: app\\+0x400 "
                            "has [0-9]+ blocks of 96 B that pin ")))
      << ended.out;
  EXPECT_NE(ended.out.find("\n     allocate these before or apart"), std::string::npos);
  EXPECT_NE(ended.out.find("malloc_trim(0) would give back"), std::string::npos) << ended.out;
  EXPECT_LE(std::ranges::count(ended.out, '\n'), 24);
}

TEST_F(VerdictCommand, IsTheSameAboveTheTable) {
  const Ended alone = heaptape("explain");
  const Ended above = heaptape("replay");
  const size_t losses = alone.out.find("losses: 0 calls lost");
  ASSERT_NE(losses, std::string::npos) << alone.out;
  EXPECT_TRUE(above.out.starts_with(alone.out.substr(0, losses) + "\n")) << above.out;
}

TEST_F(VerdictCommand, IsPartOfTheReport) {
  const std::string report = dir_.file("r.json");
  const Ended json = heaptape("explain", {"--json"});
  ASSERT_EQ(heaptape("replay", {"-o", report}).status, 0);
  ASSERT_TRUE(json.out.starts_with("{")) << json.out;
  // The same object, indented.
  const auto squeezed = [](const std::string& text) {
    return std::regex_replace(text, std::regex("[ \n]+"), "");
  };
  EXPECT_NE(squeezed(tests::read_bytes(report)).find("\"verdict\":" + squeezed(json.out)),
            std::string::npos)
      << json.out;
  EXPECT_NE(json.out.find("\"site\": \"app+0x400\""), std::string::npos) << json.out;
  EXPECT_NE(json.out.find("heaptape holes TAPE -a glibc"), std::string::npos) << json.out;
}

TEST_F(VerdictCommand, NamesNoHiddenFrames) {
  const Ended ended = heaptape("explain", {"--hide", "."});
  EXPECT_EQ(ended.out.find("app+0x400"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("(hidden)"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(" blocks of 96 B pin "), std::string::npos) << ended.out;
}

// At the end that line has all of it, at the peak four fifths.
TEST_F(VerdictCommand, NamesWhoHasWhatIsLive) {
  const std::string tape = dir_.file("live.tape");
  const Ended recorded = run({"heaptape", "record", "--stacks", "dwarf", "-o", tape, "--",
                              tests::target_path("after/cache")});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const std::string line = recorded.out.substr(0, recorded.out.find('\n'));
  const std::regex sentence("at the peak[^]* is live, 79% of it for remember \\(cache\\.c:" + line +
                            "\\)[^]*keep less of it");
  const Ended alone = run({"heaptape", "explain", tape});
  EXPECT_TRUE(std::regex_search(alone.out, sentence)) << alone.out;
  for (const bool has_report : {false, true}) {
    std::vector<std::string> words = {"heaptape", "replay", tape};
    if (has_report) words.insert(words.end(), {"-o", dir_.file("live.json")});
    const Ended above = run(words);
    EXPECT_TRUE(std::regex_search(above.out, sentence)) << above.out;
  }
}

// A tape without stacks says how to learn it.
TEST_F(VerdictCommand, SaysHowToLearnWhoHasWhatIsLive) {
  const std::string tape = dir_.file("live.tape");
  ASSERT_EQ(run({"heaptape", "record", "-o", tape, "--", tests::target_path("after/cache")}).status,
            0);
  const Ended ended = run({"heaptape", "explain", tape});
  EXPECT_NE(ended.out.find("\n     `heaptape record --stacks dwarf` says who asks for it\n"),
            std::string::npos)
      << ended.out;
}

TEST_F(VerdictCommand, RefusesWhatIsAboutOneHeap) {
  const std::string page = dir_.file("p.html");
  expect_refusal(heaptape("explain", {"--at", "peak"}), "--at is about the heap of one allocator");
  expect_refusal(heaptape("explain", {"--top", "5"}), "--top is about the heap of one allocator");
  expect_refusal(heaptape("explain", {"--only", "x"}), "--only is about the heap of one allocator");
  expect_refusal(heaptape("explain", {"--html", page}), "--html is about the heap of one");
  expect_refusal(heaptape("explain", {"--foresight"}), "--foresight is about the heap of one");
  EXPECT_FALSE(std::filesystem::exists(page));
  EXPECT_EQ(heaptape("holes").status, 2) << "these are of one heap, too";
}

TEST_F(VerdictCommand, IsAboutTheAllocatorsThatAreNamed) {
  const Ended ended = heaptape("replay", {"-a", "model:slabs", "-a", "mine=model:ptmalloc"});
  EXPECT_TRUE(ended.out.starts_with("On mine, which it ran with,")) << ended.out;
  EXPECT_NE(ended.out.find("model:slabs would"), std::string::npos) << ended.out;
  const Ended none = heaptape("replay", {"-a", "noop"});
  EXPECT_TRUE(none.out.starts_with("No run with memory of its own")) << none.out;
}

// The label is not what -a takes.
TEST_F(VerdictCommand, NamesCommandsThatRun) {
  const Ended ended = heaptape("replay", {"-a", "mine=model:ptmalloc:arena_max=1"});
  std::smatch command;
  ASSERT_TRUE(std::regex_search(ended.out, command, std::regex("`heaptape (holes [^`]*)`")))
      << ended.out;
  const Ended listed = run({"bash", "-c", tests::heaptape_path() + " " + command[1].str()});
  EXPECT_EQ(listed.status, 0) << listed.err;
}

TEST_F(VerdictCommand, ComparesNothingThatWasNotTouchedOrThatActionsChanged) {
  const Ended untouched = heaptape("explain", {"--touch", "none"});
  EXPECT_TRUE(untouched.out.starts_with("No run with memory")) << untouched.out;
  const Ended acted = heaptape("replay", {"--do", "trim@plateau"});
  EXPECT_EQ(acted.out.find("would hold"), std::string::npos) << acted.out;
  EXPECT_EQ(acted.out.find("which it ran with"), std::string::npos) << acted.out;
}

TEST_F(VerdictCommand, IsThatOfAnEmptyTape) {
  tests::write_tape(tape_, {});
  const Ended ended = heaptape("explain");
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("about as much or more"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace heaptape
