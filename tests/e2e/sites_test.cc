// heaptape stats --by site: who asked for the memory.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/programs.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::Ended;
using tests::expect_refusal;
using tests::run;

class SiteStatsCommand : public testing::Test {
 protected:
  SiteStatsCommand() { tests::write_stack_tape(tape_); }
  Ended stats(const std::vector<std::string>& options) const {
    std::vector<std::string> words{"heaptape", "stats", tape_, "--by", "site"};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  }
  void expect(const std::vector<std::string>& options, const std::string& part) const {
    const Ended ended = stats(options);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << " in " << ended.out;
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("a.tape");
};

TEST_F(SiteStatsCommand, RanksSites) {
  expect({}, "\napp+0x200           400 B   98.3%         300 B            400 B      2  ");
  expect({}, "\ntotal               407 B  100.0%         307 B            467 B      5  ");
}

TEST_F(SiteStatsCommand, RanksThemAsAsked) {
  expect({"--sort", "temporaries", "--top", "1"}, "freed by others\n(no stack) ");
}

TEST_F(SiteStatsCommand, PassesOverWhatIsHidden) {
  expect({"--hide", "0x200$", "--hide", "0x400$"}, "\napp+0x100           407 B  100.0%");
}

TEST_F(SiteStatsCommand, LeavesOutOtherSites) {
  EXPECT_EQ(stats({"--only", "site~0x400"}).out.find("app+0x200"), std::string::npos);
  expect({"--only", "site~0x400"}, "\n(others)           400 B");
}

TEST_F(SiteStatsCommand, HasAllAsJson) {
  expect({"--json", "--top", "1"},
         R"("total": {"calls": 5, "askedBytes": 467, "peakBytes": 407, "peakCount": 3, )"
         R"("liveBytes": 307, "liveCount": 2, "temporaries": 1, "freedByOthers": 1})");
  expect({"--json"}, R"("lifetimes": {"blocks": 1, "hasMedian": false, "median": 0})");
}

TEST_F(SiteStatsCommand, WritesSitesAsCsv) {
  const std::string csv = dir_.file("a.csv");
  expect({"--csv", csv}, "site ");
  EXPECT_NE(tests::read_bytes(csv).find("\napp+0x400,,,0,/opt/app,1024,2,57,7,1,7,1,0,0,1,\n"),
            std::string::npos);
}

TEST_F(SiteStatsCommand, SaysHowToRecordStacks) {
  tests::write_tape(tape_, {tests::malloc_event(1, 0x1000)});
  expect_refusal(stats({}), "has no call stacks: record the program with");
}

TEST_F(SiteStatsCommand, RefusesWrongFilters) {
  expect_refusal(stats({"--hide", "("}), "'(' is not a regular expression");
  expect_refusal(stats({"--only", "read"}), "site~REGEX");
}

TEST_F(SiteStatsCommand, HasItsOptionsForSitesAlone) {
  expect_refusal(run({"heaptape", "stats", tape_, "--top", "3"}), "add --by site");
}

TEST_F(SiteStatsCommand, KnowsWhoCalledInARecording) {
  ASSERT_EQ(run({"heaptape", "record", "--stacks", "fp", "-o", tape_, "--",
                 tests::target_path("known_stacks")})
                .status,
            0);
  expect({"--sort", "calls"}, "\nleaf (known_stacks.c:");
}

// What commands say of the stacks of a program that was recorded.
class RecordedSites : public testing::Test {
 protected:
  RecordedSites() {
    const Ended ended = run({"heaptape", "record", "--stacks", "dwarf", "-o", tape_, "--",
                             tests::target_path("known_stacks")});
    EXPECT_EQ(ended.status, 0) << ended.describe();
  }
  void expect(const std::vector<std::string>& command, const std::string& part) const {
    std::vector<std::string> words{"heaptape"};
    words.insert(words.end(), command.begin(), command.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_NE((ended.out + ended.err).find(part), std::string::npos)
        << part << " in " << ended.describe();
  }

  tests::TempDir dir_;
  const std::string tape_ = dir_.file("a.tape");
  const std::string symbols_ = tape_ + ".symbols";
};

TEST_F(RecordedSites, AreNamedByExplanations) {
  const std::vector<std::string> words = {"explain", tape_, "-a", "model:first-fit", "--at", "#2"};
  expect(words, "who asked for the blocks");
  expect(words, "  _IO_file_doallocate");
  expect(words, "    for _IO_file_doallocate");
  expect({"holes", tape_, "-a", "model:first-fit", "--at", "peak"}, "who asked for the blocks");
}

TEST_F(RecordedSites, AreInTheJsonOfExplanations) {
  const std::vector<std::string> words = {"explain", tape_,  "-a",    "model:first-fit",
                                          "--at",    "peak", "--json"};
  expect(words, R"("site": "resizing (known_stacks.c:)");
  expect(words, R"("blocks": 1)");
}

TEST_F(RecordedSites, AreWrittenDownForOtherMachines) {
  expect({"symbolize", tape_}, "functions");
  EXPECT_TRUE(std::filesystem::exists(symbols_));
  expect({"stats", tape_, "--by", "site"}, "resizing (known_stacks.c:");
}

TEST_F(RecordedSites, AreReadFromTheFileBesideTheTape) {
  const std::string other = dir_.file("b.tape");
  tests::write_stack_tape(other);
  expect({"symbolize", other}, "functions");
  std::filesystem::rename(other + ".symbols", symbols_);
  expect({"stats", tape_, "--by", "site"}, "is of another tape: it is not used");
  tests::write_bytes(symbols_, "no symbols");
  expect({"stats", tape_, "--by", "site"}, "it is not used");
  expect({"stats", tape_, "--by", "site"}, "resizing (known_stacks.c:");
}

TEST_F(RecordedSites, AreKeptByRecover) {
  const std::string saved = dir_.file("saved.tape");
  expect({"recover", tape_, "-o", saved}, "events recovered");
  EXPECT_EQ(run({"heaptape", "stats", saved, "--by", "site"}).out,
            run({"heaptape", "stats", tape_, "--by", "site"}).out);
}

TEST_F(RecordedSites, SayWhatShareOfTheStacksIsWhole) {
  expect({"stats", tape_, "--by", "site"}, "\nstacks: ");
  expect({"stats", tape_, "--by", "site"}, "% of calls whole, ");
  expect({"stats", tape_, "--by", "site"}, "% too deep");
}

// The program is gone by then.
TEST_F(RecordedSites, AreNotForgottenByASecondLook) {
  const std::string program = dir_.file("program");
  std::filesystem::copy(tests::target_path("known_stacks"), program);
  ASSERT_EQ(run({"heaptape", "record", "--stacks", "dwarf", "-o", tape_, "--", program}).status, 0);
  expect({"symbolize", tape_}, "functions");
  std::filesystem::remove(program);
  const Ended again = run({"heaptape", "symbolize", tape_});
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.err.find("knows the functions of more places"), std::string::npos) << again.err;
  expect({"stats", tape_, "--by", "site"}, "resizing (known_stacks.c:");
}

TEST_F(RecordedSites, KeepTheTapeFromBeingOverwrittenBySymbols) {
  tests::expect_refusal(run({"heaptape", "symbolize", tape_, "-o", tape_}), "is the tape");
}

}  // namespace
}  // namespace heaptape
