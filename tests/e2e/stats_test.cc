// heaptape stats: sizes, lifetimes, resizes and threads.
#include <gtest/gtest.h>

#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using tests::Ended;
using tests::expect_refusal;
using tests::free_event;
using tests::malloc_event;
using tests::realloc_event;
using tests::run;

constexpr uint64_t kA = 0x10000;
constexpr uint64_t kB = 0x20000;

class StatsCommand : public testing::Test {
 protected:
  // A block that grows twice, beside one that stays; a call takes a microsecond, if `timed`.
  void write(bool timed = true) {
    auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
    for (const schema::Event& event :
         {malloc_event(100, kA), realloc_event(kA, 300, kA), realloc_event(kA, 500, kB),
          malloc_event(24, kA, 1), free_event(kB, 1)}) {
      (*writer)->append(event);
    }
    if (timed) (*writer)->add_time(5000);
    EXPECT_TRUE((*writer)->finish({}).ok());
  }
  // Expects each of `parts` in what `stats TAPE` prints with `option`.
  void expect(const std::vector<std::string>& option, const std::vector<std::string>& parts) {
    std::vector<std::string> words{"heaptape", "stats", tape_};
    words.insert(words.end(), option.begin(), option.end());
    const Ended outcome = run(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    for (const std::string& part : parts) {
      EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in " << outcome.out;
    }
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("a.tape");
};

TEST_F(StatsCommand, SaysWhatDominates) {
  write();
  expect({}, {"\n500                1  25.0%  500 B  54.1%", "\n50% live at most (median)",
              "\nnever freed (survivors)                    1  50.0%  24 B\n",
              "\n#1              t0  100 B  500 B        2         300 B\n"});
}

TEST_F(StatsCommand, HasSizesAndChainsAsJson) {
  write();
  expect({"--json"}, {R"({"from": 97, "to": 112, "calls": 1, "bytes": 100, "smallest": 100, )"
                      R"("largest": 100, "liveCount": 0, "overRepresentedByCalls": true, )",
                      R"("resizes": {"inPlace": 1, "moved": 1, "movedBytes": 300})",
                      R"({"birth": 1, "thread": 0, "fromBytes": 100, "toBytes": 500, )"
                      R"("length": 2, "copiedBytes": 300})"});
}

TEST_F(StatsCommand, HasLifetimesAsJson) {
  write();
  expect({"--json"}, {R"("blocks": 2)", R"("freed": 1)", R"("survivorBytes": 24)",
                      R"("cdf": [{"upTo": 3, "blocks": 1, "share": 0.5}])", R"("ns": {)"});
}

TEST_F(StatsCommand, HasNoTimesInJsonOfATapeWithoutThem) {
  write(false);
  EXPECT_EQ(run({"heaptape", "stats", tape_, "--json"}).out.find("\"ns\""), std::string::npos);
}

TEST_F(StatsCommand, HasThreadsAsJson) {
  write();
  expect({"--json"}, {R"({"thread": 1, "calls": 2, "askedBytes": 24, "liveCount": 1, )"
                      R"("liveBytes": 24, "foreignFrees": 1, "freedByOthers": 0})"});
}

TEST_F(StatsCommand, PrintsOneTableIfAsked) {
  write();
  expect({"--by", "thread"}, {"t1          2             24 B"});
  EXPECT_EQ(run({"heaptape", "stats", tape_, "--by", "size"}).out.find("size in bytes"), 0u);
}

TEST_F(StatsCommand, WritesCsvBesideWhatItPrints) {
  write();
  const std::string csv = dir_.file("a.csv");
  expect({"--csv", csv}, {"size in bytes"});
  EXPECT_NE(tests::read_bytes(csv).find("\nlifetimeNs,3968,4031,1,,0.5\n"), std::string::npos);
}

TEST_F(StatsCommand, CountsCallsBesideMalloc) {
  using schema::MappingOp;
  auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
  (*writer)->add_mapping_call({.op = MappingOp::kMap, .range = {0x100000, 0x104000}});
  (*writer)->append(malloc_event(100, kA));
  (*writer)->add_mapping_call({.op = MappingOp::kMap, .range = {0x200000, 0x204000}});
  (*writer)->add_mapping_call({.op = MappingOp::kGrowBreak, .range = {0x300000, 0x304000}});
  (*writer)->add_steering({.op = schema::SteeringOp::kMallocTrim});
  ASSERT_TRUE((*writer)->finish({}).ok());
  expect({}, {"\nbeside: mmap                                2\n",
              "\nbeside: brk+                                1\n",
              "\nbeside: malloc_trim                         1\n"});
  expect({"--json"}, {R"("callsBesideMalloc": [{"op": "mmap", "count": 2}, )"
                      R"({"op": "brk+", "count": 1}, {"op": "malloc_trim", "count": 1}])"});
}

TEST_F(StatsCommand, DoesNotWriteCsvOverTheTape) {
  write();
  expect_refusal(run({"heaptape", "stats", tape_, "--csv", tape_}), "is the tape");
}

TEST_F(StatsCommand, SaysAtOnceThatCsvCannotBeWritten) {
  write();
  expect_refusal(run({"heaptape", "stats", tape_, "--csv", dir_.file("none/a.csv")}), "none/a.csv");
}

TEST_F(StatsCommand, AgreesWithTheReportOfAReplay) {
  write();
  const std::string report = dir_.file("a.json");
  ASSERT_EQ(run({"heaptape", "replay", tape_, "-a", "model:ideal", "-o", report}).status, 0);
  const std::string json = tests::read_bytes(report);
  const std::string program = json.substr(json.find("\"program\""));
  for (const char* part : {R"("blocks": 2)", R"("shareUnderTenth": 0)", R"("median": 3)",
                           R"("resizes": {"inPlace": 1, "moved": 1, "movedBytes": 300})",
                           R"("length": 2, "copiedBytes": 300})"}) {
    EXPECT_NE(program.find(part), std::string::npos) << part << " in " << program;
  }
}

TEST_F(StatsCommand, KnowsTheBlocksOfScenarios) {
  const std::vector<std::pair<const char*, const char*>> known{
      {"calloc-loop", R"("shareAtZero": 1,)"},   // each block freed at once
      {"fill", R"("freed": 0)"},                 // none ever freed
      {"manifest-patching", R"("count": 500,)"}  // each manifest grows
  };
  for (const auto& [scenario, part] : known) {
    ASSERT_EQ(run({"heaptape", "scenario", scenario, "-o", tape_}).status, 0);
    expect({"--json"}, {part});
  }
}

// Calls are read some thousands at a time.
TEST_F(StatsCommand, CountsCallsFromTheFirstToTheLast) {
  ASSERT_EQ(run({"heaptape", "scenario", "fill", "--set", "count=100000", "-o", tape_}).status, 0);
  expect({}, {"#100,000\n"});
}

TEST_F(StatsCommand, PrintsNoTableAsJson) {
  write();
  expect_refusal(run({"heaptape", "stats", tape_, "--by", "size", "--json"}), "--json");
}

}  // namespace
}  // namespace heaptape
