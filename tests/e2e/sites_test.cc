// heaptape stats --by site: who asked for the memory.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "replayer/symbols/symbol_file.h"
#include "schema/tape/tape_writer.h"
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
  // Behind notes on programs that are not there.
  static void expect_failure(const Ended& ended, const std::string& sentence) {
    EXPECT_EQ(ended.status, 2) << ended.describe();
    EXPECT_NE(ended.err.find("heaptape: " + sentence), std::string::npos) << ended.err;
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("a.tape");
};

TEST_F(SiteStatsCommand, RanksSites) {
  expect({}, "\napp+0x200           400 B   98.3%         300 B            400 B      2  ");
  expect({}, "\ntotal               407 B  100.0%         307 B            467 B      5  ");
}

TEST_F(SiteStatsCommand, RanksThemAsAsked) {
  expect({"--sort", "temporaries", "--top", "1"},
         "freed by another thread  pinned  slack\n(no stack) ");
}

TEST_F(SiteStatsCommand, PassesOverWhatIsHidden) {
  expect({"--hide", "0x200$", "--hide", "0x400$"}, "\napp+0x100           407 B  100.0%");
}

TEST_F(SiteStatsCommand, TellsWhatIsHiddenFromCallsWithoutAStack) {
  expect({"--hide", "."}, "\n(hidden)            407 B  100.0%");
  expect({"--hide", "."}, "\n(no stack)            0 B    0.0%");
  expect({"--hide", ".", "--only", "site~hidden"}, "\n(hidden)          407 B  100.0%");
  EXPECT_EQ(
      run({"heaptape", "export", tape_, "--format", "folded", "--value", "calls", "--hide", "."})
          .out,
      "(hidden) 4\n(no stack) 1\n");
}

TEST_F(SiteStatsCommand, LeavesOutOtherSites) {
  EXPECT_EQ(stats({"--only", "site~0x400"}).out.find("app+0x200"), std::string::npos);
  expect({"--only", "site~0x400"}, "\n(others)           400 B");
}

TEST_F(SiteStatsCommand, HasAllAsJson) {
  expect({"--json", "--top", "1"},
         R"("total": {"calls": 5, "askedBytes": 467, "peakBytes": 407, "peakCount": 3, )"
         R"("liveBytes": 307, "liveCount": 2, "temporaries": 1, "freedByOthers": 1, )"
         R"("movedBytes": 50, "mappedBytes": 0})");
  expect({"--json"}, R"("lifetimes": {"blocks": 1, "hasMedian": false, "median": 0})");
}

TEST_F(SiteStatsCommand, WritesSitesAsCsv) {
  const std::string csv = dir_.file("a.csv");
  expect({"--csv", csv}, "site ");
  EXPECT_NE(tests::read_bytes(csv).find(
                "\napp+0x400,,,0,/opt/app,1024,2,57,7,1,7,1,0,0,1,,0,0,29,0,0,0,0,0,0\n"),
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
  expect_refusal(run({"heaptape", "stats", tape_, "-a", "glibc"}), "add --by site");
  expect_refusal(run({"heaptape", "stats", tape_, "--by", "size", "--hide", "a"}),
                 "--hide and --only apply to sites");
}

TEST_F(SiteStatsCommand, HasWhatSitesPinAndTheirSlackAtThePeak) {
  expect({"--top", "1"}, "  freed by another thread  pinned  slack\n");
  expect({"--top", "1"}, "\npinned and slack: on recorded at peak, after #4; a hole between");
  expect({"--json"}, R"("moment": {"name": "peak", "at": 4)");
}

TEST_F(SiteStatsCommand, HasThemOfTheAllocatorAndTheMomentAskedFor) {
  expect({"-a", "model:first-fit", "--at", "#3"},
         "\npinned and slack: on model:first-fit, after #3; ");
  expect({"-a", "model:first-fit", "--at", "end"}, "on model:first-fit at end, after #7; ");
  expect_refusal(stats({"-a", "nothing"}), "'nothing'");
  expect_failure(stats({"-a", "noop"}), "'noop' places no blocks");
  expect_failure(stats({"--at", "#8"}), "'" + tape_ + "' has 7 calls: there is no #8");
}

TEST_F(SiteStatsCommand, RanksSitesByTheirSlack) {
  expect({"--sort", "slack", "--top", "1"}, "   29 B   87.9%\n(others)");
}

TEST_F(SiteStatsCommand, SaysThatNoSiteMatches) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"stats", tape_},
        {"stats", tape_, "--by", "site"},
        {"export", tape_, "--format", "folded"},
        {"explain", tape_, "-a", "recorded"},
        {"holes", tape_, "-a", "recorded"},
        {"replay", tape_, "-a", "recorded", "-o", dir_.file("a.json")}}) {
    std::vector<std::string> whole{"heaptape"};
    whole.insert(whole.end(), words.begin(), words.end());
    whole.insert(whole.end(), {"--only", "site~nobody"});
    expect_failure(run(whole), "no call site of '" + tape_ + "' matches --only");
  }
}

TEST_F(SiteStatsCommand, SaysThatAFolderIsNotThere) {
  expect_refusal(stats({"--debug-dir", dir_.file("none")}), "there is no directory '");
  expect_refusal(stats({"--debug-dir", tape_}), "is not a directory");
}

// heaptape stats, of a tape with call stacks.
class StatsOfStacks : public SiteStatsCommand {
 protected:
  void expect_whole(const std::vector<std::string>& options, const std::string& part) const {
    std::vector<std::string> words{"heaptape", "stats", tape_};
    words.insert(words.end(), options.begin(), options.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << " in " << ended.out;
  }
};

TEST_F(StatsOfStacks, NamesWhoHadMost) {
  expect_whole(
      {}, "\nholding most at the peak   bytes   share\n  app+0x200                400 B   98.3%\n");
  expect_whole(
      {}, "\nfreed by another thread   blocks   share\n  app+0x200                    1  100.0%");
  expect_whole({"--only", "site~0x400"}, "\nalive at the end          bytes  share\n  app+0x400 ");
}

TEST_F(StatsOfStacks, NamesThemAsJson) {
  expect_whole({"--json"}, R"("peakAt": 4,)");
}

TEST_F(StatsOfStacks, NamesWhoAskedForBlocksThatGrow) {
  auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  encoder.set_has_stacks();
  encoder.add_mapping({0, {0x400000, 0x410000}, 0, "/opt/app", ""});
  encoder.add_frame({0, 0x400101});
  encoder.append(tests::malloc_event(10, 0x1000), 1);
  encoder.append(tests::realloc_event(0x1000, 20, 0x2000), 1);
  encoder.append(tests::realloc_event(0x2000, 40, 0x3000), 1);
  ASSERT_TRUE((*writer)->finish({}).ok());
  expect_whole({}, "\n  for app+0x100\n");
  expect_whole({"--json"}, R"("copiedBytes": 30, "site": "app+0x100"})");
}

using HolesOfStacks = SiteStatsCommand;

TEST_F(HolesOfStacks, NameWhoAskedForThePins) {
  auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  encoder.set_has_stacks();
  encoder.add_mapping({0, {0x400000, 0x410000}, 0, "/opt/app", ""});
  encoder.add_frame({0, 0x400101});
  for (const uint64_t address : {0x1000, 0x2000, 0x3000}) {
    encoder.append(tests::malloc_event(1000, address), 1);
  }
  encoder.append(tests::free_event(0x2000));
  ASSERT_TRUE((*writer)->finish({}).ok());
  for (const std::string command : {"explain", "holes"}) {
    const Ended ended = run({"heaptape", command, tape_, "-a", "model:first-fit", "--at", "end"});
    EXPECT_NE(ended.out.find("\n    for app+0x100\n"), std::string::npos) << ended.describe();
  }
  EXPECT_NE(run({"heaptape", "holes", tape_, "-a", "model:first-fit", "--at", "end", "--json"})
                .out.find(R"("site": "app+0x100", "siteCount": 1})"),
            std::string::npos);
}

TEST_F(StatsOfStacks, NamesNobodyOfATapeWithoutThem) {
  tests::write_tape(tape_, {tests::malloc_event(1, 0x1000)});
  EXPECT_EQ(run({"heaptape", "stats", tape_}).out.find("who had"), std::string::npos);
  expect_refusal(run({"heaptape", "stats", tape_, "--hide", "a"}), "has no call stacks");
  EXPECT_EQ(run({"heaptape", "info", tape_}).out.find("stacks"), std::string::npos);
  EXPECT_EQ(run({"heaptape", "info", tape_, "--json"}).out.find("stacks"), std::string::npos);
}

TEST_F(SiteStatsCommand, KnowsWhoCalledInARecording) {
  ASSERT_EQ(run({"heaptape", "record", "--force", "--stacks", "fp", "-o", tape_, "--",
                 tests::target_path("known_stacks")})
                .status,
            0);
  expect({"--sort", "calls"}, "\nleaf (known_stacks.c:");
}

// What commands say of the stacks of a program that was recorded.
class RecordedSites : public testing::Test {
 protected:
  RecordedSites() {
    const Ended ended = run({"heaptape", "record", "--force", "--stacks", "dwarf", "-o", tape_,
                             "--", tests::target_path("known_stacks")});
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
  expect(words, "call sites of the blocks");
  expect(words, "  _IO_file_doallocate");
  expect(words, "\n  (a hole between blocks of two sites counts for both)\n");
  expect(words, "    for _IO_file_doallocate");
  expect({"holes", tape_, "-a", "model:first-fit", "--at", "peak"}, "call sites of the blocks");
}

TEST_F(RecordedSites, AreAsManyAsAskedFor) {
  for (const std::string& command : {std::string("explain"), std::string("holes")}) {
    for (const size_t top : {1, 2}) {
      const Ended ended = run({"heaptape", command, tape_, "-a", "model:first-fit", "--at", "peak",
                               "--top", std::to_string(top)});
      std::istringstream lines(ended.out);
      std::string line;
      while (std::getline(lines, line) && !line.starts_with("call sites of the blocks")) {
      }
      size_t rows = 0;
      while (std::getline(lines, line) && !line.starts_with("  (")) ++rows;
      EXPECT_EQ(rows, top) << ended.describe();
    }
  }
}

TEST_F(RecordedSites, ArePassedOverOrLeftOutOfExplanations) {
  const std::vector<std::string> words = {"explain",         tape_,  "-a",
                                          "model:first-fit", "--at", "peak"};
  expect(words, "\n  resizing (known_stacks.c:");
  for (const std::vector<std::string>& filter :
       {std::vector<std::string>{"--hide", "^resizing$"}, {"--only", "site~^main"}}) {
    std::vector<std::string> filtered{"heaptape"};
    filtered.insert(filtered.end(), words.begin(), words.end());
    filtered.insert(filtered.end(), filter.begin(), filter.end());
    const Ended ended = run(filtered);
    EXPECT_EQ(ended.out.find("\n  resizing"), std::string::npos) << ended.describe();
  }
  expect({"explain", tape_, "-a", "model:first-fit", "--at", "peak", "--hide", "^resizing$"},
         "\n  main (known_stacks.c:");
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
  expect({"stats", tape_, "--by", "site"}, "belongs to another tape: it is ignored");
  tests::write_bytes(symbols_, "no symbols");
  expect({"stats", tape_, "--by", "site"}, "it is ignored");
  expect({"stats", tape_, "--by", "site"}, "resizing (known_stacks.c:");
}

// The tape was still growing then.
TEST_F(RecordedSites, AreReadFromTheFileOfTheUnfinishedTape) {
  const std::string program = dir_.file("program");
  std::filesystem::copy(tests::target_path("known_stacks"), program);
  ASSERT_EQ(run({"heaptape", "record", "--force", "--stacks", "dwarf", "-o", tape_, "--", program})
                .status,
            0);
  std::filesystem::rename(tape_, tape_ + ".partial");
  expect({"symbolize", tape_ + ".partial"}, "functions");
  EXPECT_FALSE(std::filesystem::exists(tape_ + ".partial.symbols"));
  std::filesystem::rename(tape_ + ".partial", tape_);
  std::filesystem::remove(program);
  expect({"stats", tape_, "--by", "site"}, "resizing (known_stacks.c:");
}

TEST_F(RecordedSites, AreThoseOfTheFileAsFarAsItGoes) {
  const std::string program = dir_.file("program");
  std::filesystem::copy(tests::target_path("known_stacks"), program);
  ASSERT_EQ(run({"heaptape", "record", "--force", "--stacks", "dwarf", "-o", tape_, "--", program})
                .status,
            0);
  expect({"symbolize", tape_}, "functions");
  auto file = replayer::read_symbols(symbols_);
  ASSERT_TRUE(file.ok());
  std::vector<uint32_t> places;
  for (schema::FrameNumber frame = 0; frame + 1 < file->symbols.limit(); ++frame) {
    places.push_back(file->symbols.index_of(frame));
  }
  const replayer::Symbols shorter(file->symbols.places(), places);
  ASSERT_TRUE(replayer::write_symbols(symbols_, shorter, file->tape).ok());
  std::filesystem::remove(program);
  expect({"stats", tape_, "--by", "site"}, "resizing (known_stacks.c:");
  const replayer::Symbols none({{}}, {0});
  ASSERT_TRUE(replayer::write_symbols(symbols_, none, file->tape).ok());
  expect({"stats", tape_, "--by", "site"}, "no longer exists");
}

TEST_F(RecordedSites, AreThoseOfTheFileWhereAFolderOfDebugFilesLacksThem) {
  const std::string program = dir_.file("program");
  std::filesystem::copy(tests::target_path("known_stacks"), program);
  ASSERT_EQ(run({"heaptape", "record", "--force", "--stacks", "dwarf", "-o", tape_, "--", program})
                .status,
            0);
  expect({"symbolize", tape_}, "functions");
  std::filesystem::remove(program);
  const Ended ended =
      run({"heaptape", "stats", tape_, "--by", "site", "--debug-dir", dir_.path().string()});
  EXPECT_NE(ended.out.find("resizing (known_stacks.c:"), std::string::npos) << ended.describe();
  EXPECT_EQ(ended.err.find("no longer exists"), std::string::npos) << ended.err;
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
  ASSERT_EQ(run({"heaptape", "record", "--force", "--stacks", "dwarf", "-o", tape_, "--", program})
                .status,
            0);
  expect({"symbolize", tape_}, "functions");
  std::filesystem::remove(program);
  const Ended again = run({"heaptape", "symbolize", tape_});
  EXPECT_EQ(again.status, 2);
  EXPECT_NE(again.err.find("already has functions for "), std::string::npos) << again.err;
  expect({"stats", tape_, "--by", "site"}, "resizing (known_stacks.c:");
}

TEST_F(RecordedSites, KeepTheTapeFromBeingOverwrittenBySymbols) {
  tests::expect_refusal(run({"heaptape", "symbolize", tape_, "-o", tape_}), "is the tape");
}

}  // namespace
}  // namespace heaptape
