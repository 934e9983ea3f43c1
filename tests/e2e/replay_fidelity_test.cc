// Recordings of real programs, replayed on the allocator that they ran on: the replay must be the
// recorded run again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

#include "tests/support/programs.h"
#include "tests/support/recordings.h"

namespace heaptape {
namespace {

using tests::count_of;
using tests::ratio_of;

class ReplayOnGlibc : public testing::Test {
 protected:
  // The report's run; what the program printed is in output_.
  schema::RunFigures replayed(const std::vector<std::string>& words,
                              const std::vector<std::string>& environment = {}) {
    const std::string tape = tests::record(dir_, words, environment, &output_);
    return tests::replay_run(dir_, tape, "glibc", {"--samples", "100"});
  }
  // Committed memory is what mallinfo2 says, whenever that is asked.
  static void expect_exact_memory(const schema::RunFigures& run) {
    EXPECT_GE(count_of(run, "counters.mallinfoSamples"), 10u);
    EXPECT_LE(count_of(run, "counters.mallinfoLargestDifference"), kMostExtra);
  }

  static inline const uint64_t kMostExtra = tests::newer_mallinfo().empty() ? 0 : 4095;

  tests::TempDir dir_;
  std::string output_;
};

TEST_F(ReplayOnGlibc, PutsEveryBlockOfAProgramWithAllShapesWhereItWas) {
  const auto run = replayed({tests::target_path("replay_shapes")});
  EXPECT_EQ(ratio_of(run, "fidelity.sameOffsetShare"), 1.0);
  EXPECT_EQ(count_of(run, "fidelity.firstDifference"), 0u);
  EXPECT_GT(count_of(run, "fidelity.comparedBlocks"), 100000u);
  expect_exact_memory(run);
}

TEST_F(ReplayOnGlibc, EndsWithTheMemoryThatTheProgramHad) {
  const auto run = replayed({tests::target_path("replay_shapes")});
  std::istringstream printed(output_);
  uint64_t arena = 0;
  uint64_t mapped = 0;
  ASSERT_TRUE(printed >> arena >> mapped) << output_;
  EXPECT_LE(count_of(run, "end.committedBytes"), arena + mapped);
  EXPECT_GE(count_of(run, "end.committedBytes") + kMostExtra, arena + mapped);
  EXPECT_EQ(count_of(run, "counters.mallinfoArena"), arena);
  EXPECT_EQ(count_of(run, "counters.mallinfoHblkhd"), mapped);
}

TEST_F(ReplayOnGlibc, PutsTheBlocksOfPythonWhereTheyWere) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no python3";
  const auto run = replayed(
      {"/usr/bin/python3", "-c",
       "import json\n"
       "rows = [{'id': i, 'name': 'n%d' % i, 'values': [i, i + 1]} for i in range(60000)]\n"
       "print(len(json.loads(json.dumps(rows))))"},
      {"PYTHONMALLOC=malloc"});
  EXPECT_EQ(output_, "60000\n");
  EXPECT_GE(ratio_of(run, "fidelity.sameOffsetShare"), 0.9999);
  EXPECT_GT(count_of(run, "accounting.replayed"), 1000000u);
  expect_exact_memory(run);
}

TEST_F(ReplayOnGlibc, PutsTheBlocksOfTheCompilerWhereTheyWere) {
  tests::write_bytes(dir_.file("a.cc"),
                     "#include <iostream>\n#include <map>\n"
                     "int main() { std::map<int, int> m; for (int i = 0; i < 9; ++i) m[i] = i;\n"
                     "for (auto& p : m) std::cout << p.second << '\\n'; }\n");
  const auto run = replayed({"g++", "-O1", "-c", dir_.file("a.cc"), "-o", dir_.file("a.o")});
  EXPECT_GE(ratio_of(run, "fidelity.sameOffsetShare"), 0.9999);
  EXPECT_GT(count_of(run, "accounting.replayed"), 100000u);
  expect_exact_memory(run);
}

TEST_F(ReplayOnGlibc, AgreesWithTheRecordedRunItself) {
  const std::string tape = tests::record(dir_, {tests::target_path("replay_shapes")});
  const auto report = tests::replay_report(dir_, tape, {"recorded", "glibc"});
  ASSERT_EQ(report.runs.size(), 2u);
  for (const char* metric : {"end.liveBytes", "end.liveCount", "peak.liveBytes.at",
                             "resizes.inPlace", "resizes.moved", "accounting.replayed"}) {
    EXPECT_EQ(count_of(report.runs[0], metric), count_of(report.runs[1], metric)) << metric;
  }
  EXPECT_EQ(ratio_of(report.runs[0], "fidelity.sameOffsetShare"), 1.0);
}

}  // namespace
}  // namespace heaptape
