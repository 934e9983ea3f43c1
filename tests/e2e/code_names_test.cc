// The names of code that programs make at run time, from /tmp/perf-PID.map to what users see.
#include <filesystem>

#include "schema/tape/tape_reader.h"
#include "tests/e2e/minimal_root.h"
#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

class CodeNamesOnTapes : public RecordTest {
 protected:
  ~CodeNamesOnTapes() override { std::filesystem::remove(map_path()); }

  static Words program(const std::string& shape) {
    return {target_path("made_code"), shape, "names"};
  }
  void record_stacks(const Words& command, const std::string& stacks = "dwarf") {
    const Ended ended = record(command, {"--stacks", stacks});
    ASSERT_EQ(ended.status, 0) << ended.describe();
  }
  std::string map_path() const {
    const auto tape = schema::TapeReader::open(tape_path());
    const std::string pid = tape.ok() ? std::to_string(tape->header().pid) : "none";
    return "/tmp/perf-" + pid + ".map";
  }
  std::string folded(const std::string& tape) const {
    return run({"heaptape", "export", tape, "--format", "folded", "--value", "calls"}).out;
  }
  testing::AssertionResult names_are_in(const std::string& text) const {
    for (const char* name : {"parse", "Reader.read", "load", "leaves"}) {
      if (text.find(name) == std::string::npos) {
        return testing::AssertionFailure() << "no " << name << " in " << text;
      }
    }
    return testing::AssertionSuccess();
  }
};

TEST_F(CodeNamesOnTapes, AreInStacks) {
  record_stacks(program("named"));
  EXPECT_TRUE(names_are_in(folded(tape_path())));
  const std::string dump = run({"heaptape", "dump", tape_path(), "--stacks"}).out;
  EXPECT_NE(dump.find("\n    parse (app.py)\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find("\n    Reader.read (reader.py)\n"), std::string::npos);
  EXPECT_NE(dump.find("\n    load (app.js:12)\n"), std::string::npos);
  EXPECT_NE(dump.find("\n    leaves\n"), std::string::npos);
  EXPECT_EQ(dump.find("hides"), std::string::npos);
}

TEST_F(CodeNamesOnTapes, AreInStacksOfFramePointers) {
  record_stacks({target_path("made_code_fp"), "guess", "names"}, "fp");
  const std::string dump = run({"heaptape", "dump", tape_path(), "--stacks"}).out;
  EXPECT_NE(dump.find("\n    keeps a frame pointer\n"), std::string::npos) << dump;
}

TEST_F(CodeNamesOnTapes, AreSites) {
  record_stacks(program("named"));
  const Words words = {"heaptape", "stats", tape_path(), "--by", "site", "--hide", "made_code"};
  const std::string sites = run(words).out;
  EXPECT_NE(sites.find("\nleaves "), std::string::npos) << sites;
  EXPECT_EQ(sites.find("frame pointers alone"), std::string::npos) << sites;
}

TEST_F(CodeNamesOnTapes, OfGuessedFramesAreCounted) {
  record_stacks(program("guess"));
  const std::string sites = run({"heaptape", "stats", tape_path(), "--by", "site"}).out;
  EXPECT_NE(sites.find("% in part by frame pointers alone\n"), std::string::npos) << sites;
}

TEST_F(CodeNamesOnTapes, StayWhenTheTapeIsCopied) {
  record_stacks(program("named"));
  const std::string copy = dir_.file("copy.tape");
  const Ended ended = run({"heaptape", "recover", tape_path(), "-o", copy});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_TRUE(names_are_in(folded(copy)));
}

TEST_F(CodeNamesOnTapes, AreKnownWhereTheTapeIsReadElsewhere) {
  record_stacks(program("named"));
  ASSERT_EQ(run({"heaptape", "symbolize", tape_path()}).status, 0);
  EXPECT_TRUE(names_are_in(folded(tape_path())));
}

// The process calls itself by another number, and its /tmp is not ours.
TEST_F(CodeNamesOnTapes, AreFoundInAContainer) {
  if (kSanitized) GTEST_SKIP() << "a sanitized heaptape needs more than a minimal root";
  if (const std::string reason = no_namespaces(); !reason.empty()) GTEST_SKIP() << reason;
  const MinimalRoot root(MinimalRoot::Heaptape::kNo, {"/bin/sh", target_path("made_code")});
  const std::string library = root.outer(preload_path());
  std::filesystem::create_directories(std::filesystem::path(library).parent_path());
  std::filesystem::copy_file(preload_path(), library);
  std::filesystem::create_directories(root.outer("/tmp"));
  const Words words = in_namespaces("exec chroot " + root.path() + " /bin/made_code named names");
  const Ended ended = record(CommandLine{.words = words}, {"--stacks", "dwarf"});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  std::string stacks;
  for (const auto& process : manifest().processes) {
    if (process.executable.ends_with("/made_code")) stacks += folded(dir_.file(process.tape));
  }
  EXPECT_TRUE(names_are_in(stacks));
}

TEST_F(CodeNamesOnTapes, MayBeAnythingAtAll) {
  const Ended ended =
      record({"sh", "-c", "mkfifo /tmp/perf-$$.map && exec " + target_path("made_code") + " named"},
             {"--stacks", "dwarf"});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_FALSE(ended.timed_out);
}

// Of the recorder, for who watches.
TEST_F(CodeNamesOnTapes, AreNotAllThatFramePointersNeed) {
  const Ended ended =
      run({"python3", "-c", "import pty, sys; pty.spawn(sys.argv[1:])", heaptape_path(), "record",
           "--stacks", "fp", "-o", tape_path(), "--", target_path("made_code"), "random"});
  EXPECT_NE(ended.out.find("keeps no frame pointers; try --stacks dwarf"), std::string::npos)
      << ended.describe();
}

}  // namespace
}  // namespace heaptape::tests
