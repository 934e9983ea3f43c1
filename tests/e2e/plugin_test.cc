// `heaptape replay -a plugin:PATH`, as a user would run it.
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

class PluginCommand : public testing::Test {
 protected:
  PluginCommand() {
    const auto made =
        tests::run({"heaptape", "scenario", "fill", "--set", "count=100000", "-o", dir_.file("t")});
    EXPECT_EQ(made.status, 0) << made.describe();
  }
  tests::Ended replay(const std::string& spec, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"heaptape", "replay", dir_.file("t"), "-a", spec};
    words.insert(words.end(), more.begin(), more.end());
    return tests::run(words);
  }
  static void expect_failure(const tests::Ended& ended, const std::string& part) {
    EXPECT_EQ(ended.status, 1) << ended.describe();
    EXPECT_NE(ended.err.find(part), std::string::npos) << ended.err;
  }
  static std::string example() { return "plugin:" + tests::target_path("libsize_classes.so"); }
  static std::string faulty() { return "plugin:" + tests::target_path("libfaulty_plugin.so"); }

  tests::TempDir dir_;
};

// 100,000 blocks of 256 bytes fill 390.625 slabs of 64 KiB.
TEST_F(PluginCommand, ReportsTheMemoryAndCountersOfTheModel) {
  const auto ended = replay(example(), {"-o", dir_.file("r.json")});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  const std::string report = tests::read_bytes(dir_.file("r.json"));
  EXPECT_NE(report.find("25624576"), std::string::npos) << report;
  EXPECT_NE(report.find("slabsMade"), std::string::npos) << report;
  const auto gate =
      tests::run({"heaptape", "diff", dir_.file("r.json"), dir_.file("r.json"), "--fail-if",
                  "counters.slabsMade!=391", "--fail-if", "end.committedBytes!=25624576"});
  EXPECT_EQ(gate.status, 0) << gate.describe();
}

TEST_F(PluginCommand, ComparesOneModelWithDifferentOptions) {
  const auto ended = replay("a=" + example(), {"-a", "b=" + example() + ":min_block=512"});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_NE(ended.out.find("24.4 MiB"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("48.9 MiB"), std::string::npos) << ended.out;
}

TEST_F(PluginCommand, IsListed) {
  const auto ended = tests::run({"heaptape", "allocators"});
  EXPECT_NE(ended.out.find("plugin:PATH"), std::string::npos) << ended.out;
}

TEST_F(PluginCommand, EndsAtAFaultWithOneSentence) {
  expect_failure(
      replay(faulty() + ":fault=overlap"),
      "failed at #3: '" + faulty() +
          ":fault=overlap' (faulty): at event 3 it placed a block of 4096 usable bytes at "
          "0x100000001010, over the live block at 0x100000001000");
}

// Both, and nobody else.
TEST_F(PluginCommand, EndsAtItsOwnFaultSideBySide) {
  const auto ended = replay("a=" + faulty() + ":fault=overlap",
                            {"-a", "good=" + example(), "-a", "b=" + faulty() + ":fault=overlap",
                             "-a", "glibc", "-a", "model:bump", "--jobs", "3"});
  expect_failure(ended, "'a' failed at #3: ");
  expect_failure(ended, "'b' failed at #3: ");
  EXPECT_EQ(ended.err.find("good"), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("24.4 MiB"), std::string::npos) << ended.out;
}

TEST_F(PluginCommand, IsCalledByOneThreadSideBySide) {
  const std::string report = dir_.file("r.json");
  const auto ended = replay("a=" + faulty(), {"-a", "b=" + faulty(), "-a", "model:bump", "-a",
                                              "model:ideal", "--jobs", "4", "-o", report});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  for (const char* const label : {"a", "b"}) {
    const auto gate =
        tests::run({"heaptape", "diff", report, report, "--run", label, "--fail-if",
                    "counters.fromOtherThreads>0", "--fail-if", "counters.allocations!=100000"});
    EXPECT_EQ(gate.status, 0) << gate.describe();
  }
}

TEST_F(PluginCommand, EndsAtAFaultInTheCountAtTheEnd) {
  const auto made = tests::run({"heaptape", "scenario", "fill", "--set", "count=10", "--set",
                                "free=on", "-o", dir_.file("t")});
  ASSERT_EQ(made.status, 0) << made.describe();
  expect_failure(replay(faulty() + ":fault=leak", {"--samples", "1"}),
                 "at event 20 it counts 10 live blocks where there are 0");
}

TEST_F(PluginCommand, RefusesWhatIsNoPlugin) {
  tests::expect_refusal(replay("plugin:" + dir_.path().string()), "is a directory");
  tests::expect_refusal(replay("plugin:/none.so"), "there is no file '/none.so'");
  tests::expect_refusal(replay("plugin:"), "there is no allocator 'plugin:'");
  tests::expect_refusal(replay("plugin:" + dir_.file("t")), "is not a shared library");
}

// A slip in the spec must not cost the wait for a large tape.
TEST_F(PluginCommand, RefusesABadSpecBeforeItOpensTheTape) {
  const auto replay_no_tape = [&](const std::string& spec) {
    return tests::run({"heaptape", "replay", dir_.file("none"), "-a", spec});
  };
  tests::expect_refusal(replay_no_tape(example() + ":bogus=1"), "has no parameter 'bogus'");
  tests::expect_refusal(replay_no_tape("plugin:/none.so"), "there is no file '/none.so'");
  tests::expect_refusal(replay_no_tape(example()), "'" + dir_.file("none") + "'");
}

TEST_F(PluginCommand, RefusesAnEnvironment) {
  tests::expect_refusal(
      replay(example() + " min_block=64"),
      "takes no environment; write 'min_block=64' as an option: plugin:PATH:min_block=64");
}

TEST_F(PluginCommand, ShowsControlCharactersOfAPluginAsWhatTheyAre) {
  const auto ended = tests::run(
      tests::CommandLine{.words = {"heaptape", "replay", dir_.file("t"), "-a",
                                   "plugin:" + tests::target_path("libmisfit_plugin.so")},
                         .environment = {"HEAPTAPE_MISFIT=counter_utf8"}});
  tests::expect_refusal(ended, "the name of counter 1 is");
  EXPECT_EQ(ended.err.find('\033'), std::string::npos);
}

}  // namespace
}  // namespace heaptape
