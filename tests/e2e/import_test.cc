// import: from other tools' traces to reports.
#include <gtest/gtest.h>

#include "recorder/import/trace_format.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"
#include "tests/support/trace_texts.h"

namespace heaptape {
namespace {

using tests::count_of;
using tests::Ended;
using tests::expect_refusal;
using tests::run;

class Import : public testing::Test {
 protected:
  Ended import(const std::string& format, const std::string& bytes) {
    tests::write_bytes(trace_, bytes);
    return run({"heaptape", "import", format, trace_, "-o", tape_});
  }
  // A tape of a small trace of the malloc lab, which lacks nearly everything.
  void import_malloclab() {
    ASSERT_EQ(import("malloclab", "a 0 512\na 1 16\nr 0 640\nf 1\n").status, 0);
  }
  Ended ask(const std::string& command, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"heaptape", command, tape_});
    return run(options);
  }

  tests::TempDir dir_;
  std::string trace_ = dir_.file("trace");
  std::string tape_ = dir_.file("tape");
};

constexpr size_t kEvents = 4000;

TEST_F(Import, EveryFormatGivesTheSameLiveMetricsOnEveryAllocatorAndTheAccountAddsUp) {
  tests::Random random(tests::test_seed());
  const auto events = tests::plausible_events(random, kEvents);
  std::optional<uint64_t> live_bytes;
  for (const recorder::TraceFormat& format : recorder::trace_formats()) {
    ASSERT_EQ(import(format.name, tests::trace_text(format.name, events)).status, 0) << format.name;
    const auto report = tests::replay_report(
        dir_, tape_, {"glibc", "jemalloc", "model:ptmalloc", "model:runs", "model:ideal"});
    for (const schema::RunFigures& run : report.runs) {
      EXPECT_EQ(run.failure, "") << format.name << " " << run.label;
      EXPECT_EQ(count_of(run, "peak.liveBytes"), count_of(report.runs[0], "peak.liveBytes"));
      EXPECT_EQ(count_of(run, "end.liveCount"), count_of(report.runs[0], "end.liveCount"));
      EXPECT_EQ(count_of(run, "accounting.replayed"), count_of(run, "accounting.recorded"));
      if (format.name == std::string("malt")) continue;  // has a free for each block
      if (!live_bytes) live_bytes = count_of(run, "end.liveBytes");
      EXPECT_EQ(count_of(run, "end.liveBytes"), *live_bytes) << format.name << " " << run.label;
    }
  }
}

TEST_F(Import, ATapeWithTheAddressesOfItsTraceIsPlayedBack) {
  tests::Random random(tests::test_seed());
  const auto events = tests::plausible_events(random, kEvents);
  ASSERT_EQ(import("android", tests::trace_text("android", events)).status, 0);
  EXPECT_EQ(tests::replay_run(dir_, tape_, "recorded").failure, "");
}

// Nor does a report have a number for them.
TEST_F(Import, TheResidentSizesOfTheRunItselfAreNotInTheTrace) {
  ASSERT_EQ(import("mtrace", "= Start\n@ ./a:[0x4] + 0x4052a0 0x64\n").status, 0);
  const std::string csv = dir_.file("t.csv");
  const Ended ended = ask("replay", {"-a", "recorded", "--csv", csv});
  const size_t row = ended.out.find("\nrecorded ");
  ASSERT_NE(row, std::string::npos) << ended.out;
  EXPECT_EQ(ended.out[ended.out.find_first_not_of(' ', row + 9)], '-') << ended.out;
  EXPECT_NE(ended.out.find("resident sizes are not in this trace"), std::string::npos);
  const auto run = tests::replay_run(dir_, tape_, "recorded");
  EXPECT_EQ(tests::count_of(run, "peak.liveBytes"), 100u);
  EXPECT_FALSE(run.metric("peak.residentBytes"));
  EXPECT_FALSE(run.metric("end.account.returnedBytes"));
  EXPECT_NE(tests::read_bytes(csv).find(",,"), std::string::npos);
}

TEST_F(Import, ItSaysWhatIsNotInTheTrace) {
  const Ended ended = import("malloclab", "a 0 512\n");
  EXPECT_NE(ended.out.find("1 event, imported from a trace in the format malloclab\n"
                           "not in this trace: threads, addresses, alignments, times, "),
            std::string::npos)
      << ended.describe();
}

TEST_F(Import, WithoutAddressesTheRecordedRunIsRefused) {
  import_malloclab();
  expect_refusal(ask("replay", {"-a", "recorded"}), "addresses are not in this trace");
  expect_refusal(ask("explain", {"-a", "recorded"}), "addresses are not in this trace");
}

TEST_F(Import, WithoutAddressesTheUsualAllocatorsLackTheRecordedRun) {
  import_malloclab();
  const Ended ended = ask("replay");
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(ended.out.find("recorded  "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("addresses are not in this trace"), std::string::npos) << ended.out;
}

TEST_F(Import, WithoutTimesAndThreadsNothingIsSaidOfThem) {
  import_malloclab();
  expect_refusal(ask("stats", {"--by", "thread"}), "threads are not in this trace");
  expect_refusal(ask("dump", {"--times"}), "times are not in this trace");
  expect_refusal(ask("explain", {"-a", "glibc", "--at", "1s"}), "not in this trace");
  const std::string info = ask("info").out;
  EXPECT_NE(info.find("threads    not in this trace\nran        not in this trace\n"),
            std::string::npos)
      << info;
}

TEST_F(Import, StatsSayWhatIsNotInTheTrace) {
  import_malloclab();
  const std::string text = ask("stats").out;
  EXPECT_NE(text.find("lifetimes in time: not in this trace\n"), std::string::npos) << text;
  EXPECT_NE(text.find("resizes in place and moved: not in this trace\n"), std::string::npos)
      << text;
  const std::string json = ask("stats", {"--json"}).out;
  EXPECT_EQ(json.find("\"perThread\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"lacks\": [\"threads\", \"addresses\""), std::string::npos) << json;
}

TEST_F(Import, JsonSaysWhatIsNotInTheTrace) {
  import_malloclab();
  const std::string report = dir_.file("report.json");
  EXPECT_EQ(ask("replay", {"-a", "model:ptmalloc", "-o", report}).status, 0);
  for (const std::string& json : {ask("info", {"--json"}).out, tests::read_bytes(report)}) {
    EXPECT_NE(json.find("\"format\": \"malloclab\""), std::string::npos) << json;
    EXPECT_NE(json.find("\"lacks\": [\"threads\", \"addresses\""), std::string::npos) << json;
  }
  // Nobody knows what moved between addresses that are made up.
  const std::string json = tests::read_bytes(report);
  EXPECT_EQ(json.find("\"resizes\"", json.find("\"program\"")), std::string::npos);
}

TEST_F(Import, WhatCannotBeReadIsNamedAndEndsWithOne) {
  const Ended ended = import("mtrace", "+ 0x10 0x8\nrubbish\n- 0x10\n- 0x10\n+ 0x20 0x8\n");
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.err.find("trace', line 2 is not a call of the format 'mtrace': 'rubbish'"),
            std::string::npos)
      << ended.err;
  EXPECT_NE(ended.out.find("1  double frees omitted\n"), std::string::npos) << ended.out;
  const Ended verified = ask("verify");
  EXPECT_EQ(verified.status, 1);
  EXPECT_NE(verified.out.find("2 calls not recorded (1 malformed in the imported trace, 1 double"),
            std::string::npos)
      << verified.out;
}

TEST_F(Import, AFileOfAnotherFormatIsRefused) {
  expect_refusal(import("heaptrack", "a 0 512\n"), "is not a trace of the format 'heaptrack'");
}

TEST_F(Import, TheTraceIsNotOverwritten) {
  tests::write_bytes(trace_, "a 0 512\n");
  expect_refusal(run({"heaptape", "import", "malloclab", trace_, "-o", trace_}),
                 "is the trace itself");
}

TEST_F(Import, TheListHasEveryFormatAndWhatItLacks) {
  const Ended ended = run({"heaptape", "import", "list"});
  for (const recorder::TraceFormat& format : recorder::trace_formats()) {
    EXPECT_NE(ended.out.find(std::string(format.name) + " "), std::string::npos) << format.name;
  }
  EXPECT_NE(ended.out.find("            lacks: times, which function was called; munged also "),
            std::string::npos)
      << ended.out;
}

TEST_F(Import, MemoryDoesNotGrowWithTheTrace) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer keeps freed memory";
  const std::string round = "a 0 512\na 1 16\nr 0 640\nf 1\nf 0\n";
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += round;
  const uint64_t of_short = import("malloclab", text).peak_resident_bytes;
  for (int i = 0; i < 5; ++i) text += text;
  const Ended ended = import("malloclab", text);
  EXPECT_NE(ended.out.find("1,600,000 events"), std::string::npos) << ended.describe();
  EXPECT_LT(ended.peak_resident_bytes, of_short + (8 << 20));
}

TEST_F(Import, AMtraceOfARealProgramIsReplayed) {
  const std::string program = dir_.file("traced");
  tests::write_bytes(dir_.file("traced.c"),
                     "#include <mcheck.h>\n#include <stdlib.h>\n"
                     "int main(void) { mtrace(); char* p = malloc(100); p = realloc(p, 5000);\n"
                     "  char* q = calloc(3, 7); free(p); return q == 0; }\n");
  ASSERT_EQ(run({"cc", "-O0", "-w", dir_.file("traced.c"), "-o", program, "-lc"}).status, 0);
  const Ended ended =
      run({.words = {program},
           .environment = {"MALLOC_TRACE=" + trace_, "LD_PRELOAD=libc_malloc_debug.so.0"}});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  ASSERT_EQ(run({"heaptape", "import", "mtrace", trace_, "-o", tape_}).status, 0);
  const std::string calls = ask("dump").out;
  EXPECT_NE(calls.find("1 t0 malloc(100) = "), std::string::npos) << calls;
  EXPECT_NE(calls.find(", 5000) = "), std::string::npos) << calls;
}

}  // namespace
}  // namespace heaptape
