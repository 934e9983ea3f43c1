// What `heaptape replay` writes: the report, the timeline, the table; and that a replay that fails
// writes nothing.
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "schema/report/report_metrics.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using tests::CommandLine;
using tests::count_of;
using tests::Ended;
using tests::expect_refusal;
using tests::run;

class ReplayOutput : public testing::Test {
 protected:
  ReplayOutput() {
    tests::Random random(3);
    write(tests::eventful_events(random, 5000));
  }

  void write(const std::vector<schema::Event>& events) { tests::write_tape(tape_, events); }
  Ended replay(std::vector<std::string> options) {
    std::vector<std::string> words = {"heaptape", "replay", tape_};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  }
  // Nothing but the tape is in the folder.
  void expect_nothing_written() {
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      EXPECT_EQ(entry.path().string(), tape_);
    }
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("t.tape");
  std::string report_ = dir_.file("r.json");
  std::string csv_ = dir_.file("r.csv");
};

TEST_F(ReplayOutput, TellsWhatEachActionChanged) {
  const Ended outcome =
      replay({"-a", "glibc", "--do", "trim@2k", "--do", "purge@end", "-o", report_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("\ntrim: glibc: after #2,000: committed "), std::string::npos);
  EXPECT_NE(outcome.out.find("\npurge: glibc: after #"), std::string::npos);
  const std::string json = tests::read_bytes(report_);
  EXPECT_NE(json.find("{\"action\": \"trim\", \"at\": 2000, \"committedBytesBefore\": "),
            std::string::npos);
  EXPECT_EQ(tests::json_number(json, "committedBytesAfter") % 4096, 0u);
}

TEST_F(ReplayOutput, RefusesActionsThatCannotBeDone) {
  expect_refusal(replay({"-a", "glibc", "--do", "shrink@10"}), "cannot do 'shrink@10'");
  expect_refusal(replay({"-a", "glibc", "--do", "trim@10k"}), "comes after the end");
  expect_refusal(replay({"-a", "glibc", "--to", "100", "--do", "trim@101"}), "has 100 calls");
}

TEST_F(ReplayOutput, RefusesActionsAtMomentsOutsideIt) {
  const std::string timed = dir_.file("timed.tape");
  auto writer = schema::TapeWriter::create(timed, tests::sample_header());
  for (uint64_t i = 1; i <= 100; ++i) {
    (*writer)->append(tests::malloc_event(16, i * 0x1000));
    (*writer)->add_time(i * 100'000'000);
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  expect_refusal(run({"heaptape", "replay", timed, "-a", "noop", "--to", "10", "--do", "trim@5s"}),
                 "'trim@5s' would be after #50, but the replay ends after 10 calls (--to)");
  expect_refusal(
      run({"heaptape", "replay", timed, "-a", "noop", "--from", "52", "--do", "trim@5s"}),
      "'trim@5s' would be after #50, but the range begins with #52 (--from)");
  EXPECT_EQ(
      run({"heaptape", "replay", timed, "-a", "noop", "--from", "51", "--do", "trim@5s"}).status,
      0);
}

// No address space has room for a stack of that size, so there is no thread but the first.
TEST_F(ReplayOutput, IsTheSameWhereTheSystemGrantsNoThread) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer maps its stack, too";
  rlimit stack{};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &stack), 0);
  if (stack.rlim_max != RLIM_INFINITY) GTEST_SKIP() << "the size of stacks is limited";
  const auto no_thread = [] {
    const rlimit huge{uint64_t{1} << 50, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &huge);
  };
  const Ended alone = run(CommandLine{.words = {"heaptape", "replay", tape_, "-a", "model:bump"},
                                      .before_exec = no_thread});
  EXPECT_EQ(alone.status, 0) << alone.err;
  const size_t counts = alone.out.find("\nevents: ");  // above are times
  ASSERT_NE(counts, std::string::npos) << alone.out;
  EXPECT_NE(replay({"-a", "model:bump"}).out.find(alone.out.substr(counts)), std::string::npos);
}

TEST_F(ReplayOutput, HasTheDocumentedKeys) {
  replay({"-a", "glibc", "-o", report_});
  const std::string json = tests::read_bytes(report_);
  for (const char* key : {"version",
                          "tape",
                          "path",
                          "events",
                          "allocations",
                          "frees",
                          "reallocations",
                          "threads",
                          "bytesPerEvent",
                          "losses",
                          "runs",
                          "label",
                          "backend",
                          "touch",
                          "end",
                          "liveCount",
                          "liveBytes",
                          "usableBytes",
                          "committedBytes",
                          "residentBytes",
                          "cumulativeBytesUpper",
                          "cumulativeBytesLower",
                          "holes",
                          "peak",
                          "value",
                          "at",
                          "fidelity",
                          "sameOffsetShare",
                          "firstDifference",
                          "counters",
                          "name",
                          "latency",
                          "timeline",
                          "count",
                          "bytes",
                          "largest",
                          "over64KiB",
                          "over1MiB",
                          "over8MiB",
                          "topBytes",
                          "histogram",
                          "log2Size"}) {
    EXPECT_NE(json.find("\"" + std::string(key) + "\":"), std::string::npos) << key;
  }
}

TEST_F(ReplayOutput, AccountsForEveryEventInReportAndTable) {
  const Ended outcome = replay({"-a", "glibc", "-a", "model:runs", "-o", report_});
  const auto report = schema::read_figures(report_);
  ASSERT_TRUE(report.ok());
  for (const auto& run : report->runs) {
    EXPECT_EQ(count_of(run, "accounting.recorded"), report->tape_events);
    EXPECT_EQ(count_of(run, "accounting.replayed") + count_of(run, "accounting.failedCalls") +
                  count_of(run, "accounting.unknownFrees") + count_of(run, "accounting.refused"),
              report->tape_events);
  }
  EXPECT_NE(outcome.out.find("recorded = "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("losses: 0 calls lost while recording"), std::string::npos);
}

TEST_F(ReplayOutput, GoesIntoAFifoWhole) {
  const std::string fifo = dir_.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = tests::read_bytes(fifo); });
  EXPECT_EQ(replay({"-a", "noop", "-o", fifo}).status, 0);
  reader.join();
  EXPECT_NE(got.find("\"label\": \"noop\""), std::string::npos);
}

TEST_F(ReplayOutput, SaysOnWhichThreadsTheCallsWereMade) {
  tests::Random random(4);
  write(tests::plausible_events(random, 2000, 16, 5));
  const Ended ordered = replay({"-a", "glibc"});
  const std::string says = std::string("\nreplayed: glibc: version ") + gnu_get_libc_version() +
                           ", threads ordered, clock tape, touch page; ";
  EXPECT_NE(ordered.out.find(says), std::string::npos) << ordered.out;
  replay({"-a", "glibc", "--threads", "lockstep", "-o", report_});
  EXPECT_EQ(schema::read_figures(report_)->runs.at(0).threads, "ordered (lock step)");
}

TEST_F(ReplayOutput, SaysWhyThereIsNoFidelity) {
  const Ended ended = replay({"-a", "jemalloc", "-a", "mimalloc", "-o", report_});
  const std::string why = "recorded on glibc: addresses not comparable with jemalloc's";
  EXPECT_NE(ended.out.find("touch page; " + why + "\n"), std::string::npos) << ended.out;
  const auto run = schema::read_figures(report_)->runs.at(0);
  EXPECT_EQ(run.incomparable, why);
  EXPECT_FALSE(run.metric("fidelity.sameOffsetShare"));
}

TEST_F(ReplayOutput, NamesTheRunsOfANoteInOneLine) {
  tests::Random random(4);
  write(tests::plausible_events(random, 2000, 16, 5));
  const Ended ended =
      replay({"-a", "glibc", "-a", "two=glibc", "--threads", "merged", "-o", report_});
  EXPECT_NE(ended.out.find("\nnote: glibc, two: 5 threads merged: per-thread caches and arenas are "
                           "not simulated; memory is understated\n"),
            std::string::npos)
      << ended.out;
  EXPECT_EQ(
      schema::read_figures(report_)->runs.at(1).notes.at(0),
      "5 threads merged: per-thread caches and arenas are not simulated; memory is understated");
}

TEST_F(ReplayOutput, SaysWhatTheResidentSizesOfTheRunItselfAre) {
  const std::string note = "\nnote: recorded: resident sizes cover all anonymous memory";
  EXPECT_EQ(replay({"-a", "recorded", "-a", "noop"}).out.find(note), std::string::npos);
  tests::Random random(3);
  tests::write_sampled_tape(tape_, tests::eventful_events(random, 5000), random);
  EXPECT_NE(replay({"-a", "recorded", "-a", "noop"}).out.find(note), std::string::npos);
  EXPECT_EQ(replay({"-a", "recorded"}).out.find(note), std::string::npos);
}

TEST_F(ReplayOutput, NamesNoRunsOfANoteThatAllHave) {
  write({tests::malloc_event(1 << 20, 0x10000)});
  const Ended ended = replay(
      {"-a", "recorded", "-a", "glibc", "-a", "two=glibc", "-a", "model:bump", "-a", "noop"});
  EXPECT_NE(
      ended.out.find("\nnote: all replays: 1.00 MiB at the peak and 1.00 MiB at the end are "),
      std::string::npos)
      << ended.out;
}

TEST_F(ReplayOutput, NamesTheRunsOfANoteThatSomeLack) {
  const Ended ended =
      replay({"-a", "glibc", "-a", "model:bump", "-a", "model:ideal", "--touch", "none"});
  EXPECT_NE(ended.out.find("\nnote: glibc: no block was touched"), std::string::npos) << ended.out;
}

TEST_F(ReplayOutput, SaysHowFarApartRepeatsWere) {
  const Ended ended = replay({"-a", "glibc", "-a", "two=glibc", "--repeat", "2"});
  EXPECT_NE(ended.out.find("\ntimes: medians of 2 replays; ns per event glibc "), std::string::npos)
      << ended.out;
  EXPECT_EQ(replay({"-a", "glibc"}).out.find("\ntimes: "), std::string::npos);
}

TEST_F(ReplayOutput, HasNoTimesOfAllocatorsThatSharedTheProcessors) {
  const Ended ended = replay({"-a", "glibc", "-a", "model:bump", "--jobs", "2", "-o", report_});
  EXPECT_NE(ended.out.find("\nnote: glibc, model:bump: timings are omitted: with --jobs, "
                           "allocators share the processors"),
            std::string::npos)
      << ended.out;
  const std::string told = replay({"-a", "glibc", "-a", "recorded", "--jobs", "2"}).out;
  EXPECT_NE(told.find("\nnote: glibc: timings are omitted"), std::string::npos) << told;
  const auto report = schema::read_figures(report_);
  ASSERT_TRUE(report.ok());
  for (const schema::RunFigures& run : report->runs) {
    EXPECT_FALSE(run.metric("time.nsPerEvent")) << run.label;
    EXPECT_FALSE(run.metric("latency.malloc.samples")) << run.label;
    EXPECT_TRUE(run.metric("end.committedBytes")) << run.label;
  }
  // Far from true, if there were any.
  const Ended gated =
      run({"heaptape", "diff", report_, report_, "--fail-if", "time.nsPerEvent>1000s"});
  EXPECT_NE(gated.status, 0);
  EXPECT_NE((gated.out + gated.err).find("time.nsPerEvent"), std::string::npos) << gated.err;
  const std::string timed = dir_.file("timed.json");
  replay({"-a", "glibc", "-a", "model:bump", "-o", timed});
  const Ended compared =
      run({"heaptape", "diff", timed, report_, "--fail-if", "time.nsPerEvent>+900%"});
  EXPECT_NE((compared.out + compared.err).find("has no time.nsPerEvent (replays with --jobs"),
            std::string::npos)
      << compared.out;
}

TEST_F(ReplayOutput, TakesNoTimesOfAllocatorsSideBySide) {
  for (const std::vector<std::string>& timed :
       {std::vector<std::string>{"--repeat", "2"}, std::vector<std::string>{"--latency"}}) {
    std::vector<std::string> options = {"-a", "glibc", "--jobs", "2"};
    options.insert(options.end(), timed.begin(), timed.end());
    const Ended ended = replay(options);
    EXPECT_EQ(ended.status, 2);
    EXPECT_NE(ended.err.find(timed[0] + " needs timings, which --jobs omits"), std::string::npos)
        << ended.err;
  }
  EXPECT_EQ(replay({"-a", "glibc", "--jobs", "1", "--latency"}).status, 0);
}

TEST_F(ReplayOutput, HasLatenciesWhereAskedFor) {
  const Ended ended = replay({"-a", "glibc", "--latency"});
  EXPECT_NE(ended.out.find("\nglibc malloc to64 "), std::string::npos) << ended.out;
  EXPECT_EQ(replay({"-a", "glibc"}).out.find("ns a call"), std::string::npos);
}

TEST_F(ReplayOutput, CanBeGatedByALatency) {
  replay({"-a", "glibc", "-o", report_});
  const auto gate = [this](const std::string& expression) {
    return run({"heaptape", "diff", report_, report_, "--fail-if", expression}).status;
  };
  EXPECT_EQ(gate("latency.malloc.p99Ns > 10G"), 0);
  EXPECT_EQ(gate("latency.malloc.samples > 1"), 1);
}

TEST_F(ReplayOutput, NamesTheAllocatorThatWasRecorded) {
  replay({"-a", "noop", "-o", report_});
  EXPECT_NE(tests::read_bytes(report_).find(R"("allocator": "/lib/x86_64-linux-gnu/libc.so.6")"),
            std::string::npos);
}

TEST_F(ReplayOutput, SaysTheSameOfTheProgramWhateverTheThreads) {
  tests::Random random(4);
  write(tests::plausible_events(random, 20000, 16, 70));
  std::set<uint64_t> peaks;
  for (const char* threads : {"merged", "ordered", "lockstep", "free"}) {
    replay({"-a", "glibc", "--threads", threads, "-o", report_});
    const auto run = schema::read_figures(report_)->runs.at(0);
    peaks.insert(count_of(run, "peak.liveBytes"));
    EXPECT_EQ(count_of(run, "accounting.replayed"), 20000u) << threads;
  }
  EXPECT_EQ(peaks.size(), 1u);
}

TEST_F(ReplayOutput, LeavesOutWhatThreadsAtTheSameTimeDoNotTell) {
  replay({"-a", "glibc", "-o", dir_.file("base.json")});
  const Ended ended = replay({"-a", "glibc", "--threads", "free", "-o", report_, "--csv", csv_});
  EXPECT_NE(ended.out.find(" -  "), std::string::npos) << ended.out;
  const auto figures = schema::read_figures(report_)->runs.at(0);
  for (const char* metric :
       {"end.holes.bytes", "peak.holes.bytes", "end.slackBytes", "end.usableBytes",
        "peak.usableBytes", "end.residentHoleBytes", "resizes.moved", "fidelity.sameOffsetShare"}) {
    EXPECT_FALSE(figures.metric(metric)) << metric;
    const Ended gated = run({"heaptape", "diff", dir_.file("base.json"), report_, "--fail-if",
                             std::string(metric) + ">1G"});
    EXPECT_EQ(gated.status, 1) << metric;
  }
  EXPECT_GT(count_of(figures, "end.committedBytes"), 0u);
  EXPECT_NE(tests::read_bytes(csv_).find(",,"), std::string::npos);
}

TEST_F(ReplayOutput, SaysWhatAModelCounted) {
  const Ended ended = replay({"-a", "glibc", "-a", "mine=model:runs"});
  EXPECT_NE(ended.out.find("\ncounters: mine: runsCreated "), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("counters:"), ended.out.rfind("counters:")) << ended.out;
}

TEST_F(ReplayOutput, HasALineOfCsvForEachRunAndSample) {
  replay({"-a", "model:runs", "-a", "a,b=noop", "--samples", "37", "--csv", csv_});
  const auto lines = tests::lines_of(tests::read_bytes(csv_));
  ASSERT_EQ(lines.size(), 1u + 2 * 37);
  EXPECT_EQ(
      lines[0],
      "run,at,liveCount,liveBytes,usableBytes,committedBytes,residentBytes,"
      "cumulativeBytesUpper,cumulativeBytesLower,holes.count,holes.bytes,holes.largest,"
      "holes.over64KiB,holes.over1MiB,holes.over8MiB,holes.topBytes,residentHoleBytes,timeNs");
  EXPECT_TRUE(lines[37].starts_with("model:runs,")) << lines[37];
  EXPECT_TRUE(lines[38].starts_with("\"a,b\",")) << lines[38];
}

// One name for one thing: what the CSV calls a column, gates know as a metric of the end.
TEST_F(ReplayOutput, HasColumnsOfCsvThatGatesKnow) {
  replay({"-a", "model:runs", "--samples", "1", "--csv", csv_});
  std::istringstream header(tests::lines_of(tests::read_bytes(csv_))[0]);
  std::string column;
  std::getline(header, column, ',');
  EXPECT_EQ(column, "run");
  while (std::getline(header, column, ',')) {
    EXPECT_TRUE(schema::is_metric_name("end." + column)) << column;
  }
}

TEST_F(ReplayOutput, HasTheWordsOfMetricsAboveItsColumns) {
  const Ended ended = replay({"-a", "model:runs", "-a", "model:bump"});
  EXPECT_NE(ended.out.find("resident  resident hole  purgeable"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("distance to ideal  ns per event\n"), std::string::npos) << ended.out;
}

TEST_F(ReplayOutput, HasTheAccountOfEachRun) {
  const Ended ended = replay({"-a", "model:runs", "-a", "noop"});
  const size_t head = ended.out.find("at plateau  at plateau  at plateau  at plateau  at plateau");
  ASSERT_NE(ended.out.find("metadata", head), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("returned   committed\nmodel:runs"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("\nnoop", ended.out.find("returned")), std::string::npos) << ended.out;
}

TEST_F(ReplayOutput, BeginsWithTheVerdict) {
  const Ended two = replay({"-a", "model:ptmalloc", "-a", "model:slabs", "-a", "model:ideal"});
  EXPECT_TRUE(std::regex_search(two.out, std::regex("^(Your run|On model:ptmalloc)[^\n]* live\\."
                                                    "\n  1\\. ")))
      << two.out;
  EXPECT_EQ(two.out.find("model:ideal would"), std::string::npos) << "nobody can use it";
  EXPECT_EQ(replay({"-a", "model:runs"}).out.find("would hold"), std::string::npos);
}

TEST_F(ReplayOutput, AsksForMemoryBackAtAMoment) {
  const Ended ended = replay({"-a", "model:ptmalloc", "--do", "trim@exit"});
  EXPECT_NE(ended.out.find("trim: model:ptmalloc: after #"), std::string::npos) << ended.out;
}

TEST_F(ReplayOutput, EndsTheTimelineWithTheEnd) {
  replay({"-a", "model:runs", "--samples", "1", "--csv", csv_, "-o", report_});
  const auto lines = tests::lines_of(tests::read_bytes(csv_));
  const auto run = schema::read_figures(report_)->runs.at(0);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[1].starts_with("model:runs," +
                                   std::to_string(count_of(run, "accounting.recorded")) + "," +
                                   std::to_string(count_of(run, "end.liveCount")) + "," +
                                   std::to_string(count_of(run, "end.liveBytes")) + ","))
      << lines[1];
}

TEST_F(ReplayOutput, StopsWhereItIsTold) {
  replay({"-a", "model:runs", "--to", "100", "-o", report_});
  EXPECT_EQ(count_of(schema::read_figures(report_)->runs.at(0), "accounting.recorded"), 100u);
}

TEST_F(ReplayOutput, StopsAfterACountWithAUnit) {
  replay({"-a", "model:runs", "--to", "1.5k", "-o", report_});
  EXPECT_EQ(count_of(schema::read_figures(report_)->runs.at(0), "accounting.recorded"), 1500u);
}

TEST_F(ReplayOutput, EndsWithTheTapeWhereTheCountIsBeyondIt) {
  replay({"-a", "model:runs", "--to", "1M", "-o", report_});
  const auto report = schema::read_figures(report_);
  EXPECT_EQ(count_of(report->runs.at(0), "accounting.recorded"), report->tape_events);
}

TEST_F(ReplayOutput, BeginsWhereItIsTold) {
  const auto until = tests::replay_run(dir_, tape_, "model:runs", {"--to", "4k"});
  const auto range = tests::replay_run(dir_, tape_, "model:runs", {"--from", "1001", "--to", "4k"});
  EXPECT_EQ(count_of(range, "accounting.before"), 1000u);
  EXPECT_EQ(count_of(range, "accounting.recorded"), 3000u);
  for (const char* metric : {"end.liveBytes", "end.liveCount", "end.committedBytes",
                             "end.holes.bytes", "end.usableBytes", "end.at"}) {
    EXPECT_EQ(count_of(range, metric), count_of(until, metric)) << metric;
  }
  EXPECT_LT(count_of(range, "end.cumulativeBytesUpper"),
            count_of(until, "end.cumulativeBytesUpper"));
  ASSERT_FALSE(range.notes.empty());
  EXPECT_TRUE(range.notes[0].starts_with("the figures are of calls #1,001 to #4,000 alone"));
}

TEST_F(ReplayOutput, OfARangeIsToldInTheTableAndOnThePage) {
  const std::string page = dir_.file("r.html");
  const Ended outcome = replay({"-a", "glibc", "-a", "recorded", "--from", "4001", "--to", "5k",
                                "--html", page, "--csv", csv_, "--samples", "2"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("note: glibc, recorded: the figures are of calls #4,001 to #5,000"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(tests::read_bytes(page).find(R"("before":4000)"), std::string::npos);
  const auto lines = tests::lines_of(tests::read_bytes(csv_));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_NE(lines[1].find(",4500,"), std::string::npos) << lines[1];
}

TEST_F(ReplayOutput, RefusesRangesThatAreNone) {
  expect_refusal(replay({"-a", "noop", "--from", "0"}), "--from");
  expect_refusal(replay({"-a", "noop", "--from", "20", "--to", "10"}),
                 "--from 20 is after --to 10: give the lower number as --from");
  expect_refusal(replay({"-a", "noop", "--from", "7k"}), "--from 7,000 is after the last call, #");
  expect_refusal(replay({"-a", "noop", "--from", "100", "--do", "trim@98"}),
                 "'trim@98' comes before the range");
}

TEST_F(ReplayOutput, HasAsManySamplesAsACountWithAUnitSays) {
  replay({"-a", "model:runs", "--samples", "1k", "--csv", csv_});
  EXPECT_EQ(tests::lines_of(tests::read_bytes(csv_)).size(), 1001u);
}

TEST_F(ReplayOutput, OfATapeWithoutEventsIsWhole) {
  write({});
  const Ended outcome =
      replay({"-a", "recorded", "-a", "glibc", "-a", "model:runs", "-o", report_, "--csv", csv_});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(schema::read_figures(report_)->runs.size(), 3u);
  EXPECT_EQ(tests::lines_of(tests::read_bytes(csv_)).size(), 4u);
}

TEST_F(ReplayOutput, OfOneEventIsWhole) {
  write({tests::malloc_event(10, 0x555555560010)});
  const auto run = tests::replay_run(dir_, tape_, "glibc");
  EXPECT_EQ(count_of(run, "end.liveCount"), 1u);
  EXPECT_EQ(count_of(run, "peak.liveBytes.at"), 1u);
}

TEST_F(ReplayOutput, OfFreesOfUnknownBlocksIsWhole) {
  write(std::vector<schema::Event>(500, tests::free_event(0x10000)));
  for (const char* spec : {"recorded", "glibc", "model:runs", "noop"}) {
    const auto run = tests::replay_run(dir_, tape_, spec);
    EXPECT_EQ(count_of(run, "accounting.unknownFrees"), 500u) << spec;
  }
}

TEST_F(ReplayOutput, IsTheSameEachTime) {
  replay({"-a", "glibc", "-a", "model:runs", "-o", report_});
  replay({"-a", "glibc", "-a", "model:runs", "-o", dir_.file("again.json")});
  std::vector<std::string> words = {"heaptape", "diff", report_, dir_.file("again.json")};
  for (const char* metric : {"peak.committedBytes", "end.residentBytes", "end.holes.bytes",
                             "peak.holes.count", "resizes.moved", "fidelity.sameOffsetShare"}) {
    words.insert(words.end(), {"--fail-if", std::string(metric) + "!=+0"});
  }
  const Ended outcome = run(words);
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("PASS: 11 gate checks passed, 2 runs compared"), std::string::npos)
      << outcome.out;
}

// A library of another family is refused when the replay begins.
std::string useless_spec() {
  return "jemalloc@" + tests::target_path("libreplay_mimalloc_old.so");
}

TEST_F(ReplayOutput, IsNotWrittenWhenTheReplayFails) {
  expect_refusal(replay({"-a", useless_spec(), "-o", report_, "--csv", csv_}), "is mimalloc");
  expect_nothing_written();
}

TEST_F(ReplayOutput, LeavesAnOlderReportAloneWhenTheReplayFails) {
  tests::write_bytes(report_, "older");
  expect_refusal(replay({"-a", useless_spec(), "-o", report_}), "is mimalloc");
  EXPECT_EQ(tests::read_bytes(report_), "older");
}

TEST_F(ReplayOutput, IsRefusedWhereNoFileCanBeCreated) {
  expect_refusal(replay({"-a", "noop", "-o", dir_.file("none/r.json")}), "none/r.json");
  expect_refusal(replay({"-a", "noop", "--csv", dir_.path().string()}), "cannot create");
  expect_nothing_written();
}

TEST_F(ReplayOutput, IsRefusedInThePlaceOfTheTape) {
  const std::string before = tests::read_bytes(tape_);
  expect_refusal(replay({"-a", "noop", "-o", tape_}), "is the tape");
  expect_refusal(replay({"-a", "noop", "--csv", dir_.path().string() + "/./t.tape"}),
                 "is the tape");
  EXPECT_EQ(tests::read_bytes(tape_), before);
}

TEST_F(ReplayOutput, IsRefusedInThePlaceOfALibrary) {
  const std::string library = dir_.file("libmine.so");
  std::filesystem::copy_file(tests::target_path("libreplay_bare_malloc.so"), library);
  const std::string before = tests::read_bytes(library);
  expect_refusal(replay({"-a", "lib:" + library, "-o", library}), "is the file of 'lib:");
  EXPECT_EQ(tests::read_bytes(library), before);
}

TEST_F(ReplayOutput, IsRefusedWithoutAName) {
  expect_refusal(replay({"-a", "noop", "-o", ""}), "the file name is empty");
  expect_refusal(replay({"-a", "noop", "--csv", ""}), "the file name is empty");
  expect_refusal(replay({"-a", "noop", "-o", "-"}), "'-' is a file name here");
}

TEST_F(ReplayOutput, IsRefusedWhereReportAndCsvAreOneFile) {
  expect_refusal(replay({"-a", "noop", "-o", report_, "--csv", report_}), "cannot both go");
  expect_nothing_written();
}

TEST_F(ReplayOutput, FailsOnAFullDisk) {
  expect_refusal(replay({"-a", "noop", "-o", "/dev/full"}), "No space left");
  expect_refusal(replay({"-a", "noop", "--csv", "/dev/full"}), "No space left");
}

// As /dev/stdout does. A link of the test's own, because replacing that one would harm others.
TEST_F(ReplayOutput, GoesToStandardOutputWhereAskedBeforeTheTable) {
  std::filesystem::create_symlink("/proc/self/fd/1", csv_);
  const Ended outcome = replay({"-a", "noop", "--csv", csv_});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("run,at,")) << outcome.out.substr(0, 100);
  EXPECT_NE(outcome.out.find("events: "), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_symlink(csv_));
}

TEST(DiffOfReports, RefusesWhatItCannotRead) {
  const tests::TempDir dir;
  tests::write_bytes(dir.file("new.json"), "{\"version\": 99, \"tape\": {}, \"runs\": []}");
  tests::write_bytes(dir.file("old.json"), "{\"version\": 1, \"tape\": {}, \"runs\": []}");
  const auto diff = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"heaptape", "diff"});
    return run(words);
  };
  expect_refusal(diff({dir.file("old.json"), dir.file("new.json")}), "99");
  expect_refusal(diff({dir.file("none.json"), dir.file("old.json")}), "none.json");
  expect_refusal(
      diff({dir.file("old.json"), dir.file("old.json"), "--fail-if", "peak.comittedBytes>+5%"}),
      "peak.committedBytes");
}

}  // namespace
}  // namespace heaptape
