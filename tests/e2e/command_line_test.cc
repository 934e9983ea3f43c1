// The command line itself: help, versions, wrong words, odd environments.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using tests::CommandLine;
using tests::Ended;
using tests::expect_refusal;
using tests::run;

// The names of all commands, as the help lists them.
std::vector<std::string> all_commands() {
  std::istringstream help(run({"heaptape", "--help"}).out);
  std::vector<std::string> commands;
  bool in_list = false;
  for (std::string line; std::getline(help, line);) {
    if (tests::begins_commands(line)) {
      in_list = true;
    } else if (in_list && line.starts_with("  ") && line[2] != ' ') {
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return commands;
}

class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() {
    tests::Random random(3);
    tests::write_tape(tape_, tests::plausible_events(random, 1000));
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("t.tape");
};

TEST_F(CommandLineTest, RefusesToDoNothing) {
  expect_refusal(run({"heaptape"}), "a command is missing");
}

TEST_F(CommandLineTest, SaysItsVersion) {
  const Ended outcome = run({"heaptape", "--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.out.starts_with("heaptape ")) << outcome.out;
}

TEST_F(CommandLineTest, PrintsNoControlCharactersOfLabels) {
  const std::string spec = "\x1b[31mred=glibc";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"heaptape", "explain", tape_, "-a", spec},
        std::vector<std::string>{"heaptape", "holes", tape_, "-a", spec},
        std::vector<std::string>{"heaptape", "replay", tape_, "-a", spec, "--do", "trim@500"}}) {
    const Ended outcome = run(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("[31mred"), std::string::npos) << outcome.out;
    EXPECT_EQ((outcome.out + outcome.err).find('\x1b'), std::string::npos) << outcome.out;
  }
}

TEST_F(CommandLineTest, HasHelpWithAnExampleForEveryCommand) {
  const auto commands = all_commands();
  ASSERT_GE(commands.size(), 9u);
  for (const std::string& command : commands) {
    const Ended outcome = run({"heaptape", command, "--help"});
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_NE(outcome.out.find("Example: heaptape " + command), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.err, "") << command;
  }
}

TEST_F(CommandLineTest, HasHelpOfEightyColumns) {
  for (const std::string& command : all_commands()) {
    std::istringstream help(
        run({"env", "-u", "COLUMNS", tests::heaptape_path(), command, "--help"}).out);
    for (std::string line; std::getline(help, line);) {
      if (line.starts_with("Example")) continue;  // to be typed, and not wrapped
      EXPECT_LE(line.size(), 80u) << command << ": " << line;
    }
  }
}

TEST_F(CommandLineTest, HasHelpAsWideAsTheEnvironmentSays) {
  std::istringstream help(
      run({"env", "COLUMNS=200", tests::heaptape_path(), "record", "--help"}).out);
  size_t longest = 0;
  for (std::string line; std::getline(help, line);) longest = std::max(longest, line.size());
  EXPECT_GT(longest, 150u);
  EXPECT_LE(longest, 200u);
}

TEST_F(CommandLineTest, SaysWhichOptionsMustBeGiven) {
  for (const char* command : {"export", "recover", "holes", "scenario"}) {
    const Ended help = run({"env", "COLUMNS=1000", tests::heaptape_path(), command, "--help"});
    EXPECT_NE(help.out.find("; required"), std::string::npos) << command;
  }
}

TEST_F(CommandLineTest, RefusesUnknownCommandsAndOptions) {
  expect_refusal(run({"heaptape", "rewind"}), "there is no command 'rewind'");
  expect_refusal(run({"heaptape", "replay", tape_, "-a", "noop", "--fast"}),
                 "there is no option '--fast'");
  expect_refusal(run({"heaptape", "stats", tape_, "--xml"}), "there is no option '--xml'");
  expect_refusal(run({"heaptape", "info", tape_, "and more"}), "unexpected argument 'and more'");
}

TEST_F(CommandLineTest, SuggestsTheWordThatWasMeant) {
  expect_refusal(run({"heaptape", "replya", tape_}), "'replya' (did you mean replay?)");
  expect_refusal(run({"heaptape", "replay", tape_, "--alocator=noop"}),
                 "(did you mean --allocator?)");
  expect_refusal(run({"heaptape", "recover", tape_, "--ouput", "x"}), "(did you mean --output?)");
  expect_refusal(run({"heaptape", "replay", tape_, "--touch", "pag"}), "(did you mean page?)");
  expect_refusal(run({"heaptape", "scenario", "fil", "-o", "x"}), "(did you mean fill?)");
}

TEST_F(CommandLineTest, SaysHowToQuoteAnAllocatorWithItsEnvironment) {
  expect_refusal(run({"heaptape", "replay", tape_, "-a", "glibc", "MALLOC_ARENA_MAX=2"}),
                 "in quotes: -a 'glibc MALLOC_ARENA_MAX=2'");
}

TEST_F(CommandLineTest, SaysThatACommandTakesOneTape) {
  expect_refusal(run({"heaptape", "stats", tape_, tape_}), "stats takes one tape");
  expect_refusal(run({"heaptape", "replay", "-a", "noop", tape_, tape_}), "give it once");
}

TEST_F(CommandLineTest, SaysWhatToDoWithATape) {
  expect_refusal(run({"heaptape", tape_}),
                 "is a file, not a command: for a tape, type heaptape info");
}

TEST_F(CommandLineTest, SaysWhereAllocatorsBelong) {
  expect_refusal(run({"heaptape", "replay", tape_, "glibc"}), "allocators after -a");
}

TEST_F(CommandLineTest, SaysWhichOptionLacksItsValue) {
  expect_refusal(run({"heaptape", "replay", tape_, "-a"}), "'--allocator' lacks its value");
}

TEST_F(CommandLineTest, SaysWhichOptionIsGivenTwice) {
  expect_refusal(run({"heaptape", "explain", tape_, "-a", "glibc", "-a", "noop"}),
                 "'--allocator' is given more than once");
}

TEST_F(CommandLineTest, TakesEachWordAboutStacksOnce) {
  const auto record = [this](const std::string& stacks) {
    return run({"heaptape", "record", "--stacks", stacks, "-o", dir_.file("x.tape"), "--", "true"});
  };
  expect_refusal(record("dwarf,every=1k,every=2k"), "'every' is given more than once");
  expect_refusal(record("fp,depth=3,every=1k,depth=3"), "'depth' is given more than once");
  expect_refusal(record("dwarf,fp"), "it takes either fp or dwarf: omit ',fp'");
  expect_refusal(record("dwarf,dwarf"), "it takes either fp or dwarf: omit ',dwarf'");
  expect_refusal(record("dwarf,none"),
                 "--stacks: none cannot be combined: write --stacks none, or omit ',none'");
}

TEST_F(CommandLineTest, SaysWhatSizesWithStacksLookLike) {
  const auto record = [this](const std::string& sizes) {
    return run({"heaptape", "record", "--stacks", "dwarf,size=" + sizes, "-o", dir_.file("x.tape"),
                "--", "true"});
  };
  for (const char* const sizes : {"", "4x", "48+", "+48", "48-", "1-2-3"}) {
    expect_refusal(record(sizes), "is no size: type size=48, size=1KiB-4KiB, or several joined");
  }
  expect_refusal(record("0"), "'0' begins at 0: a call for no bytes counts as one for 1");
  expect_refusal(record("64-48"), "'64-48' ends before it begins");
  expect_refusal(record("1+2+3+4+5+6+7+8+9"), "size= takes at most 8 sizes and ranges");
  expect_refusal(record("48,size=64"), "'size' is given more than once: join sizes by '+'");
}

TEST_F(CommandLineTest, NamesTheOptionAboutStacksOnce) {
  const Ended outcome =
      run({"heaptape", "record", "--stacks", "dwarf,depht=3", "-o", dir_.file("x"), "--", "true"});
  expect_refusal(outcome, "--stacks: dwarf has no parameter 'depht' (did you mean depth?)");
}

TEST_F(CommandLineTest, SaysWhatAFileOfAnotherKindIs) {
  const std::string report = dir_.file("r.json");
  ASSERT_EQ(run({"heaptape", "replay", tape_, "-a", "noop", "-o", report}).status, 0);
  expect_refusal(run({"heaptape", "stats", report}), "is a report, not a tape");
  expect_refusal(run({"heaptape", "diff", report, tape_}), "is a tape, not a report");
  expect_refusal(run({"heaptape", "info", dir_.path()}),
                 "is a directory: give a tape in it, such as");
  expect_refusal(run({"heaptape", "diff", dir_.path(), report}), "give a report in it");
}

TEST_F(CommandLineTest, NamesTheBiggerTapeOfAWrapper) {
  tests::write_bytes(dir_.file("big.tape"), "");
  tests::write_bytes(tape_ + ".manifest.json",
                     R"({"processes": [{"tape": "big.tape", "events": 1000000}]})");
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"info", tape_}, {"stats", tape_, "--json"}, {"replay", tape_, "-a", "noop"}}) {
    std::vector<std::string> line = {"heaptape"};
    line.insert(line.end(), words.begin(), words.end());
    const Ended outcome = run(line);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.err.find("big.tape"), std::string::npos) << words[0];
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

TEST_F(CommandLineTest, PrintsExactBytesIfAsked) {
  const auto stats = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"heaptape", "stats", tape_};
    words.insert(words.end(), more.begin(), more.end());
    return run(words).out;
  };
  EXPECT_NE(stats({}).find("iB\n"), std::string::npos) << stats({});
  EXPECT_EQ(stats({"--bytes"}).find("iB\n"), std::string::npos) << stats({"--bytes"});
}

TEST_F(CommandLineTest, OffersBytesWhereSizesArePrintedAndWideWhereTablesAre) {
  const auto offers = [](const char* command, const char* option) {
    return run({"heaptape", command, "--help"}).out.find(option) != std::string::npos;
  };
  for (const char* command : {"info", "stats", "replay", "explain", "holes", "diff", "record"}) {
    EXPECT_TRUE(offers(command, "--bytes")) << command;
  }
  for (const char* command :
       {"dump", "verify", "recover", "scrub", "import", "ctl", "allocators"}) {
    EXPECT_FALSE(offers(command, "--bytes")) << command;
    EXPECT_FALSE(offers(command, "--wide")) << command;
  }
  EXPECT_TRUE(offers("replay", "--wide") && offers("stats", "--wide"));
}

TEST_F(CommandLineTest, HasNoColoursInAPipeUnlessAsked) {
  EXPECT_TRUE(run({"heaptape", "info", "none"}).err.starts_with("heaptape: cannot open"));
  EXPECT_TRUE(run({"heaptape", "info", "none", "--color", "always"}).err.starts_with("\033[31m"));
}

TEST_F(CommandLineTest, ReplaysOnADefaultSet) {
  const std::string out = run({"heaptape", "replay", tape_}).out;
  for (const char* name : {"recorded", "glibc"}) {
    EXPECT_NE(out.find("\n" + std::string(name) + " "), std::string::npos) << out;
  }
}

TEST_F(CommandLineTest, RefusesCommandsWithoutATape) {
  for (const char* command : {"info", "verify", "stats", "dump", "recover", "replay"}) {
    expect_refusal(run({"heaptape", command}), "tape");
  }
  expect_refusal(run({"heaptape", "recover", tape_}), "output");
}

TEST_F(CommandLineTest, RefusesWhatIsNotANumber) {
  for (const char* samples : {"0", "-1", "many", "1000001", "1e3", ""}) {
    expect_refusal(run({"heaptape", "replay", tape_, "-a", "noop", "--samples", samples}),
                   "--samples");
  }
  for (const char* until : {"-1", "many", "18446744073709551616"}) {
    expect_refusal(run({"heaptape", "replay", tape_, "-a", "noop", "--to", until}), "--to");
  }
  expect_refusal(run({"heaptape", "dump", tape_, "--from", "-5"}), "--from");
}

TEST_F(CommandLineTest, SaysWhatToTypeInsteadOfASize) {
  expect_refusal(run({"heaptape", "replay", tape_, "-a", "noop", "--to", "1MiB"}),
                 "type a whole number below 2^64, such as 1000, 10k or 1.5M");
  expect_refusal(run({"heaptape", "replay", tape_, "-a", "noop", "--samples", "1MiB"}),
                 "'1MiB' is not a whole number: type one from 1 to 1,000,000");
}

TEST_F(CommandLineTest, SaysBetweenWhichCountsTheSamplesMustBe) {
  expect_refusal(run({"heaptape", "replay", tape_, "-a", "noop", "--samples", "2M"}),
                 "'2M' is out of range: type one from 1 to 1,000,000");
}

TEST_F(CommandLineTest, RefusesUnknownChoices) {
  expect_refusal(run({"heaptape", "replay", tape_, "-a", "noop", "--touch", "some"}), "--touch");
  expect_refusal(run({"heaptape", "replay", tape_, "-a", "noop", "--threads", "magic"}),
                 "--threads");
  expect_refusal(run({"heaptape", "dump", tape_, "--format", "xml"}), "--format");
}

TEST_F(CommandLineTest, TakesOptionsBeforeTheTape) {
  EXPECT_EQ(run({"heaptape", "replay", "-a", "noop", tape_}).status, 0);
  EXPECT_EQ(run({"heaptape", "replay", "--samples", "1", "-a", "noop", tape_}).status, 0);
}

TEST_F(CommandLineTest, PointsToTheHelpOfTheCommandThatWasMisused) {
  expect_refusal(run({"heaptape", "replay", "-a", "noop"}), "see `heaptape replay --help`");
  expect_refusal(run({"heaptape", "replya", tape_}), "see `heaptape --help`");
}

TEST_F(CommandLineTest, ShowsNoProgressInAPipe) {
  EXPECT_EQ(run({"heaptape", "replay", tape_, "-a", "glibc"}).err, "");
  EXPECT_EQ(run({"heaptape", "verify", tape_}).err, "");
}

TEST_F(CommandLineTest, SaysWhenItsOutputCannotBeWritten) {
  std::vector<std::vector<std::string>> commands = {
      {"heaptape", "info", tape_},  {"heaptape", "verify", tape_},
      {"heaptape", "stats", tape_}, {"heaptape", "stats", tape_, "--json"},
      {"heaptape", "dump", tape_},  {"heaptape", "recover", tape_, "-o", dir_.file("r")},
      {"heaptape", "--help"},       {"heaptape", "--version"},
      {"heaptape", "allocators"},   {"heaptape", "replay", tape_, "-a", "noop"}};
  const auto write_to_full_disk = [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); };
  for (const auto& words : commands) {
    SCOPED_TRACE(words[1]);
    expect_refusal(run(CommandLine{.words = words, .before_exec = write_to_full_disk}),
                   "cannot write");
  }
}

// A file opened in the place of standard error would get its messages.
TEST_F(CommandLineTest, WritesNothingOfItsOwnIntoFilesWhenStandardStreamsAreClosed) {
  const auto close_all = [] {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(fd);
  };
  const std::string report = dir_.file("r.json");
  const std::vector<std::string> words = {
      "heaptape", "replay", tape_, "-a", "glibc", "-o", report, "--csv", dir_.file("r.csv")};
  run(CommandLine{.words = words, .before_exec = close_all});
  EXPECT_TRUE(schema::read_figures(report).ok());
  EXPECT_TRUE(tests::read_bytes(dir_.file("r.csv")).starts_with("run,at,"));
}

TEST_F(CommandLineTest, NoticesADeadAllocatorThoughChildrenAreIgnored) {
  const std::string aborting = "lib:" + tests::target_path("libreplay_aborting_malloc.so");
  const Ended outcome = run(CommandLine{.words = {"heaptape", "replay", tape_, "-a", aborting},
                                        .before_exec = [] { std::signal(SIGCHLD, SIG_IGN); }});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("the replay on 'lib:"), std::string::npos) << outcome.err;
}

// Blocks that are far apart: each takes a new leaf of every map of the address space.
TEST_F(CommandLineTest, SaysWhenMemoryRunsOut) {
  if (tests::kSanitized)
    GTEST_SKIP() << "a sanitizer needs more address space than the limit leaves";
  std::vector<schema::Event> events;
  for (uint64_t i = 1; i < 500; ++i) events.push_back(tests::malloc_event(8, i << 27));
  tests::write_tape(tape_, events);
  const auto limit = [] {
    const rlimit most{1 << 30, 1 << 30};
    setrlimit(RLIMIT_AS, &most);
  };
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"heaptape", "replay", tape_, "-a", "recorded"}, {"heaptape", "stats", tape_}}) {
    expect_refusal(run(CommandLine{.words = words, .before_exec = limit}), "not enough memory");
  }
}

TEST_F(CommandLineTest, SaysThatAModelReservesMoreAddressSpaceThanIsAllowed) {
  if (tests::kSanitized)
    GTEST_SKIP() << "a sanitizer needs more address space than the limit leaves";
  tests::write_tape(tape_, {tests::malloc_event(8, 0x10000)});
  const auto limit = [] {
    const rlimit most{1 << 30, 1 << 30};
    setrlimit(RLIMIT_AS, &most);
  };
  expect_refusal(run(CommandLine{.words = {"heaptape", "replay", tape_, "-a", "model:ptmalloc"},
                                 .before_exec = limit}),
                 "raise the limit on address space (ulimit -v)");
}

// Threads take address space for their stacks and their share of malloc.
TEST_F(CommandLineTest, NeedsNoMoreAddressSpaceForItsThreads) {
  if (tests::kSanitized)
    GTEST_SKIP() << "a sanitizer needs more address space than the limit leaves";
  ASSERT_EQ(run({"heaptape", "scenario", "fleet-like", "--set", "events=200k", "-o", tape_}).status,
            0);
  // Enough for the tables, as they are without threads, and not for those of four threads.
  for (const rlim_t mebibytes : {300, 400}) {
    const auto limit = [mebibytes] {
      const rlimit most{mebibytes << 20, mebibytes << 20};
      setrlimit(RLIMIT_AS, &most);
    };
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"heaptape", "stats", tape_},
             {"heaptape", "replay", tape_, "--jobs", "4", "-a", "model:bump", "-a",
              "model:first-fit", "-a", "model:buddy", "-a", "model:best-fit"}}) {
      const auto ended = run(CommandLine{.words = words, .before_exec = limit});
      EXPECT_EQ(ended.status, 0) << mebibytes << ' ' << ended.describe();
    }
  }
}

TEST_F(CommandLineTest, SaysThatAFileReachesTheLimit) {
  tests::Random random(1);
  tests::write_tape(tape_, tests::eventful_events(random, 100'000));
  const auto limit = [] {
    const rlimit most{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &most);
  };
  const std::string output = tape_ + ".out";
  const std::vector<std::vector<std::string>> commands = {
      {"heaptape", "recover", tape_, "-o", output},
      {"heaptape", "scenario", "random-slots", "-o", output},
      {"heaptape", "replay", tape_, "-a", "model:bump", "-o", output},
      {"heaptape", "replay", tape_, "-a", "glibc"}};
  for (const auto& words : commands) {
    SCOPED_TRACE(words[1]);
    expect_refusal(run(CommandLine{.words = words, .before_exec = limit}), "File too large");
    EXPECT_FALSE(std::filesystem::exists(output));
  }
}

TEST_F(CommandLineTest, SaysWhenAskedForMoreThanAnyMemoryHolds) {
  expect_refusal(run({"heaptape", "scenario", "random-slots", "--set", "slots=9223372036854775808",
                      "-o", tape_ + ".2"}),
                 "not enough memory");
}

}  // namespace
}  // namespace heaptape
