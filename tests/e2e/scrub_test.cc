// scrub: a tape for others, and parts of tapes. export: the calls of a tape for other tools.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <utility>

#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using tests::count_of;
using tests::Ended;
using tests::expect_refusal;
using tests::run;

constexpr uint64_t kScrubbedEvents = 3000;

// A tape with everything that tells of the machine.
class Scrub : public testing::Test {
 protected:
  Scrub()
      : random_(tests::test_seed()),
        events_(tests::plausible_events(random_, kScrubbedEvents, 16, 3)) {
    schema::TapeHeader header = tests::sample_header();
    header.command_line = {"/secret/bin/server", "--password", "hunter2"};
    header.executable = "/secret/bin/server";
    header.pid = 4242;
    header.recorded_allocator = {"glibc", "2.36", "glibc 2.36"};
    auto writer = std::move(*schema::TapeWriter::create(tape_, header));
    for (size_t i = 0; i < events_.size(); ++i) {
      if (i % 100 == 0) writer->add_time(1'000'000 + i * 1000);
      if (i % 500 == 0)
        writer->add_sample({0, i * 1000, 1 << 20, {{0x555555559000, 0x555555959000}}});
      if (i == 1500) writer->add_mark("half", 2'500'000);
      writer->append(events_[i]);
    }
    schema::TapeSummary summary;
    summary.duration_ns = 5'000'000;
    summary.thread_list = {{4242, "secret-thread"}, {4243, "b"}, {4244, "c"}};
    EXPECT_TRUE(writer->finish(summary).ok());
  }
  Ended scrub(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"heaptape", "scrub", tape_, "-o", scrubbed_});
    return run(options);
  }
  // The report without the words that scrub takes away, times and addresses.
  std::string report(const std::string& tape) {
    const std::string path = dir_.file("report.json");
    std::vector<std::string> words{"heaptape", "replay", tape, "-o", path};
    for (const char* spec : {"recorded", "glibc", "model:ptmalloc", "model:runs", "model:slabs"}) {
      words.insert(words.end(), {"-a", spec});
    }
    EXPECT_EQ(run(words).status, 0);
    const std::string json = tests::read_bytes(path);
    const std::regex gone(
        "\"(path|command|allocator|bytesPerEvent|address|replayNs|stampNs|nsPerEvent(Min|Max)?|p[0-"
        "9]+Ns(Min|Max)?|"
        "maxNs|maxAt|samples)\": [^\n]*");
    return std::regex_replace(json, gone, "");
  }
  std::vector<schema::Event> events_of(const std::string& tape) {
    auto reader = std::move(*schema::TapeReader::open(tape));
    return tests::read_events(reader);
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("secret-name.tape");
  std::string scrubbed_ = dir_.file("scrubbed");
  tests::Random random_;
  std::vector<schema::Event> events_;
};

TEST_F(Scrub, ReplaysToTheSameReportOnEveryAllocator) {
  ASSERT_EQ(scrub().status, 0);
  EXPECT_TRUE(report(scrubbed_) == report(tape_));  // megabytes: not to be printed
}

TEST_F(Scrub, LeavesNothingOfTheProcess) {
  ASSERT_EQ(scrub().status, 0);
  const auto tape = schema::TapeReader::open(scrubbed_);
  const schema::TapeHeader& header = tape->header();
  EXPECT_TRUE(header.command_line.empty() && header.executable.empty());
  EXPECT_EQ(header.pid + header.parent_pid + header.start_unix_ns, 0u);
  EXPECT_EQ(header.allocator, "libc.so.6");
  EXPECT_EQ(schema::name_of(header.recorded_allocator), "glibc 2.36");
  EXPECT_TRUE(tape->summary()->thread_list.empty());
}

// Every text that a tape can hold, but for marks, has the word.
TEST_F(Scrub, LeavesNoNameIfNamesAreHashed) {
  schema::TapeHeader header = tests::sample_header();
  header.command_line = {"acme", "--acme"};
  header.executable = "/acme/acme";
  header.allocator = "/acme/libacme_alloc.so";
  header.recorded_allocator = {"jemalloc", "5.3.0-acme-12-g54eaed1", "glibc 2.36"};
  auto writer = std::move(*schema::TapeWriter::create(tape_, header));
  schema::TapeEncoder& encoder = writer->encoder();
  encoder.set_has_stacks();
  encoder.add_mapping({0, {0x555555000000, 0x555555100000}, 0, "/acme/acme", "acme", "acme"});
  encoder.add_mapping(
      {0, {0x7f0000000000, 0x7f0000001000}, 0, schema::kMadeCodePath, "acme", "acme"});
  encoder.append(tests::malloc_event(24, 0x555555559000), encoder.add_frame({0, 0x555555000123}));
  schema::ProcessSample sample{1, 10, 8192, {}, {4096}};
  sample.parts.owners = {{"libacme", 2000}, {"data", 1000}};
  writer->add_sample(sample);
  schema::TapeSummary summary;
  summary.thread_list = {{1, "acme"}};
  summary.inner_allocators = {{"/acme/libacme.so", {"jemalloc"}}};
  ASSERT_TRUE(writer->finish(summary).ok());
  ASSERT_EQ(scrub({"--hash-names"}).status, 0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"info", "--json"}, {"dump", "--stacks"}}) {
    std::vector<std::string> words{"heaptape", command[0], scrubbed_, command[1]};
    const Ended shown = run(words);
    EXPECT_EQ(shown.status, 0) << shown.describe();
    EXPECT_EQ(shown.out.find("acme"), std::string::npos) << shown.out;
  }
  auto tape = std::move(*schema::TapeReader::open(scrubbed_));
  EXPECT_EQ(schema::name_of(tape.header().recorded_allocator), "jemalloc 5.3.0");
  EXPECT_TRUE(tape.header().allocator.starts_with("name-"));
  ASSERT_EQ(tape.summary()->inner_allocators.size(), 1u);
  EXPECT_TRUE(tape.summary()->inner_allocators[0].file.starts_with("name-"));
  EXPECT_EQ(tape.summary()->inner_allocators[0].families, summary.inner_allocators[0].families);
  const auto& owners = tape.summary()->largest_sample->parts.owners;
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[1].owner, "data");
  const schema::Stacks stacks = std::move(*tape.read_stacks());
  ASSERT_EQ(stacks.mappings().size(), 2u);
  for (const schema::CodeMapping& mapping : stacks.mappings()) {
    EXPECT_TRUE(mapping.build_id.empty());
    EXPECT_EQ((mapping.path + mapping.function).find("acme"), std::string::npos);
  }
}

// What the file's name said must not be lost with it.
TEST_F(Scrub, KeepsTheFamilyOfAnAllocatorWhoseNameItHashes) {
  schema::TapeHeader header = tests::sample_header();
  header.allocator = "/usr/lib/libjemalloc.so.2";
  header.recorded_allocator = {};
  auto writer = std::move(*schema::TapeWriter::create(tape_, header));
  writer->append(tests::malloc_event(24, 0x555555559000));
  ASSERT_TRUE(writer->finish({}).ok());
  ASSERT_EQ(scrub({"--hash-names"}).status, 0);
  EXPECT_EQ(schema::TapeReader::open(scrubbed_)->header().allocator_family(), "jemalloc");
}

TEST_F(Scrub, TheAddressSpaceBeginsWhereEveryScrubbedTapeHasItsBeginning) {
  ASSERT_EQ(scrub().status, 0);
  uint64_t lowest = UINT64_MAX;
  for (const schema::Event& event : events_of(scrubbed_)) {
    if (event.address != 0) lowest = std::min(lowest, event.address);
  }
  EXPECT_EQ(lowest >> 26, uint64_t{0x100000000000} >> 26);
  EXPECT_EQ(lowest % (64 << 20), events_[0].address % (64 << 20));
}

TEST_F(Scrub, CutsAndAllocatesWhatLivesAtTheBeginning) {
  ASSERT_EQ(scrub({"--from", "1001", "--to", "2000"}).status, 0);
  uint64_t live = 0;
  for (size_t i = 0; i < 1000; ++i)
    live += (events_[i].address != 0) - (events_[i].freed_address != 0);
  EXPECT_EQ(events_of(scrubbed_).size(), live + 1000);
  const auto part = tests::replay_run(dir_, scrubbed_, "model:ptmalloc");
  const auto whole = tests::replay_run(dir_, tape_, "model:ptmalloc", {"--to", "2000"});
  EXPECT_EQ(count_of(part, "end.liveBytes"), count_of(whole, "end.liveBytes"));
  EXPECT_EQ(count_of(part, "accounting.unknownFrees"), 0u);
}

TEST_F(Scrub, WhatLivesAtTheBeginningIsAllocatedInTheOrderInWhichItWas) {
  ASSERT_EQ(scrub({"--from", "1001"}).status, 0);
  std::map<uint64_t, size_t> births;  // by address
  for (size_t i = 0; i < 1000; ++i) {
    births.erase(events_[i].freed_address);
    if (events_[i].address != 0) births[events_[i].address] = i;
  }
  std::vector<size_t> order;
  for (const auto& [address, birth] : births) order.push_back(birth);
  std::ranges::sort(order);
  const std::vector<schema::Event> part = events_of(scrubbed_);
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(part[i].size, events_[order[i]].size) << i;
}

TEST_F(Scrub, AMarkRightBehindTheLastCallStays) {
  for (const auto& [until, status] : {std::pair("1500", 0), std::pair("1499", 2)}) {
    ASSERT_EQ(scrub({"--to", until}).status, 0);
    EXPECT_EQ(
        run({"heaptape", "explain", scrubbed_, "-a", "model:ptmalloc", "--at", "mark:half"}).status,
        status)
        << until;
  }
}

TEST_F(Scrub, TimesOfAPartBeginWithIt) {
  ASSERT_EQ(scrub({"--from", "2001"}).status, 0);
  const auto tape = schema::TapeReader::open(scrubbed_);
  EXPECT_EQ(tape->summary()->duration_ns, 1'000'000u - 100'000u);
}

TEST_F(Scrub, AScrubbedTapeIsWhole) {
  ASSERT_EQ(scrub({"--from", "700", "--to", "2500"}).status, 0);
  EXPECT_EQ(run({"heaptape", "verify", scrubbed_}).status, 0);
}

TEST_F(Scrub, APartThatIsNotThereIsRefused) {
  expect_refusal(scrub({"--from", "3001"}), "--from 3,001 is after the last call, #3,000");
  expect_refusal(scrub({"--from", "20", "--to", "10"}), "--from 20 is after --to 10");
}

TEST_F(Scrub, TheTapeIsNotOverwritten) {
  expect_refusal(run({"heaptape", "scrub", tape_, "-o", tape_}), "is the tape itself");
}

class ScrubStacks : public Scrub {
 protected:
  ScrubStacks() {
    auto writer = std::move(*schema::TapeWriter::create(tape_, tests::sample_header()));
    schema::TapeEncoder& encoder = writer->encoder();
    encoder.set_has_stacks();
    encoder.add_mapping({0, {0x555555000000, 0x555555100000}, 0x1000, "/secret/server", "id"});
    encoder.add_mapping({0, {0x7f0000000000, 0x7f0000001000}, 0, schema::kMadeCodePath, "", "fn"});
    const schema::FrameNumber outer = encoder.add_frame({0, 0x555555000123});
    encoder.append(tests::malloc_event(24, 0x555555559000),
                   encoder.add_frame({outer, 0x7f0000000010}));
    EXPECT_TRUE(writer->finish({}).ok());
  }
  schema::Stacks scrubbed_stacks(const std::vector<std::string>& options) {
    EXPECT_EQ(scrub(options).status, 0);
    auto tape = std::move(*schema::TapeReader::open(scrubbed_));
    return std::move(*tape.read_stacks());
  }
};

TEST_F(ScrubStacks, FramesStayWhereTheyWereInTheirCode) {
  const schema::Stacks stacks = scrubbed_stacks({});
  const auto& mapping = stacks.mappings()[0];
  EXPECT_EQ(stacks.find(1)->return_address - mapping.range.begin, 0x123u);
  EXPECT_EQ(stacks.find(2)->return_address - stacks.mappings()[1].range.begin, 0x10u);
  EXPECT_LT(mapping.range.begin, uint64_t{0x100000000000} + (64 << 20));
}

TEST_F(ScrubStacks, OfPathsTheLastPartStaysOrItsHash) {
  EXPECT_EQ(scrubbed_stacks({}).mappings()[0].path, "server");
  const auto hashed = scrubbed_stacks({"--hash-names"}).mappings();
  EXPECT_TRUE(hashed[0].path.starts_with("name-") && hashed[0].build_id.empty());
  EXPECT_TRUE(hashed[1].function.starts_with("name-"));
}

class ExportedCalls : public Scrub {
 protected:
  // Exports and imports again; the path of the tape.
  std::string back(const std::string& format) {
    const std::string trace = dir_.file("trace." + format);
    std::string tape = dir_.file("back." + format);
    EXPECT_EQ(run({"heaptape", "export", tape_, "--format", format, "-o", trace}).status, 0);
    const Ended ended = run({"heaptape", "import", format, trace, "-o", tape});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return tape;
  }
};

TEST_F(ExportedCalls, ComeBackWithTheSameLiveMetrics) {
  const auto whole = tests::replay_run(dir_, tape_, "model:ptmalloc");
  for (const char* format : {"malloclab", "android", "mtrace"}) {
    const auto run = tests::replay_run(dir_, back(format), "model:ptmalloc");
    for (const char* metric :
         {"peak.liveBytes", "peak.liveBytes.at", "peak.liveCount", "end.liveBytes", "end.liveCount",
          "end.cumulativeBytesUpper", "accounting.replayed", "end.temporaries"}) {
      EXPECT_EQ(count_of(run, metric), count_of(whole, metric)) << format << " " << metric;
    }
  }
}

TEST_F(ExportedCalls, OfAndroidAndMtraceAreTheSameCalls) {
  const auto android = events_of(back("android"));
  EXPECT_EQ(android.size(), events_.size());
  const auto mtrace = events_of(back("mtrace"));
  for (size_t i = 0; i < events_.size(); ++i) {
    ASSERT_EQ(android[i].address, events_[i].address);
    ASSERT_EQ(mtrace[i].freed_address, events_[i].freed_address);
  }
}

TEST_F(ExportedCalls, OfTheMallocLabHaveTheirCountsInFront) {
  tests::write_tape(tape_, {tests::malloc_event(10, 0x10), tests::malloc_event(20, 0x40),
                            tests::free_event(0x10), tests::realloc_event(0x40, 90, 0x100),
                            tests::malloc_event(5, 0x10), tests::free_event(0)});
  const Ended ended = run({"heaptape", "export", tape_, "--format", "malloclab"});
  EXPECT_EQ(ended.out, "0\n2\n5\n1\na 0 10\na 1 20\nf 0\nr 1 90\na 0 5\n");
}

TEST_F(ExportedCalls, OfTheMallocLabWithoutALineAreCounted) {
  using schema::Op;
  tests::write_tape(tape_, {{Op::kMalloc, 0, 64, 0, 0x10000, 0},
                            {Op::kMalloc, 0, 64, 0, 0, 0},
                            {Op::kFree, 0, 0, 0, 0, 0},
                            {Op::kFree, 0, 0, 0, 0, 0x20000}});
  const Ended ended =
      run({"heaptape", "export", tape_, "--format", "malloclab", "-o", dir_.file("calls")});
  EXPECT_NE(ended.err.find("omitted 3 calls that the format cannot express"), std::string::npos)
      << ended.err;
}

TEST_F(ExportedCalls, EveryEntryPointHasALine) {
  tests::write_tape(tape_, {{schema::Op::kCalloc, 0, 30, 0, 0x10, 0},
                            {schema::Op::kValloc, 1, 5, 0, 0x1000, 0},
                            {schema::Op::kNewAligned, 0, 7, 64, 0x40, 0},
                            {schema::Op::kDeleteSized, 0, 0, 0, 0, 0x40},
                            {schema::Op::kRealloc, 0, 0, 0, 0, 0x10},
                            {schema::Op::kMalloc, 0, 99, 0, 0, 0}});
  EXPECT_EQ(run({"heaptape", "export", tape_, "--format", "android"}).out,
            "1: calloc 0x10 1 30\n2: memalign 0x1000 4096 5\n1: memalign 0x40 64 7\n"
            "1: free 0x40\n1: realloc 0x0 0x10 0\n1: malloc 0x0 99\n");
  EXPECT_EQ(run({"heaptape", "export", tape_, "--format", "mtrace"}).out,
            "= Start\n@ [0x0] + 0x10 0x1e\n@ [0x0] + 0x1000 0x5\n@ [0x0] + 0x40 0x7\n"
            "@ [0x0] - 0x40\n@ [0x0] - 0x10\n@ [0x0] + 0x0 0x63\n= End\n");
}

TEST_F(ExportedCalls, FiltersOfCallStacksAreRefused) {
  expect_refusal(run({"heaptape", "export", tape_, "--format", "mtrace", "--only", "f"}),
                 "apply to call stacks");
}

}  // namespace
}  // namespace heaptape
