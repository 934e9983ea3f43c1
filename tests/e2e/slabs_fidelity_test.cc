// Recordings of real programs, replayed on jemalloc 5.3.0 and on model:slabs: the model must hold
// as much memory as the real one at every sample. The real one goes by the clock of the replay, the
// model by that of the recording; so neither purges, except where a test is about that.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/jemalloc.h"
#include "tests/support/recordings.h"
#include "tests/support/replays.h"

namespace heaptape {
namespace {

using replayer::RunMetrics;

constexpr char kJson[] =
    "import json\n"
    "rows = [{'id': i, 'name': 'n%d' % i, 'values': [i, i + 1]} for i in range(40000)]\n"
    "print(len(json.loads(json.dumps(rows))))";

constexpr char kSqlite[] =
    "import sqlite3\n"
    "base = sqlite3.connect(':memory:')\n"
    "base.execute('create table t(a integer primary key, b text, c blob)')\n"
    "for r in range(4):\n"
    "  rows = (('x' * (i % 200), b'y' * (i * 7 % 900)) for i in range(12000))\n"
    "  base.executemany('insert into t(b, c) values(?, ?)', rows)\n"
    "  base.execute('delete from t where a % 3 = ?', (r % 3,))\n";

class SlabsReplay : public testing::Test {
 protected:
  void SetUp() override {
    const tests::JemallocFacts& facts = tests::jemalloc_facts();
    if (!facts.unusable.empty()) GTEST_SKIP() << facts.unusable;
    if (!facts.other_build.empty()) GTEST_SKIP() << facts.other_build;
  }

  std::string record_python(const char* program, const std::vector<std::string>& environment) {
    return tests::record(dir_, {"/usr/bin/python3", "-c", program}, environment);
  }
  // jemalloc's run, and the model's.
  std::vector<RunMetrics> replayed(const std::string& tape, const std::string& jemalloc,
                                   const std::string& model) {
    auto runs = tests::replay_tape(tape, tests::replay_options({jemalloc, model}));
    if (runs.size() != 2) runs.resize(2);
    EXPECT_EQ(runs[0].accounting.refused + runs[1].accounting.refused, 0u);
    return runs;
  }

  static void expect_near(uint64_t model, uint64_t real, double share) {
    EXPECT_NEAR(static_cast<double>(model), static_cast<double>(real),
                share * static_cast<double>(real));
  }

  static void expect_the_same_memory(const std::vector<RunMetrics>& runs) {
    const RunMetrics& real = runs[0];
    const RunMetrics& model = runs[1];
    EXPECT_EQ(model.committed_bytes_peak.value, real.committed_bytes_peak.value);
    EXPECT_EQ(model.committed_bytes_peak.at, real.committed_bytes_peak.at);
    EXPECT_EQ(model.usable_bytes_peak.value, real.usable_bytes_peak.value);
    EXPECT_EQ(model.end.committed_bytes, real.end.committed_bytes);
    expect_near(model.resident_bytes_peak.value, real.resident_bytes_peak.value, 0.02);
    expect_near(model.end.resident_bytes, real.end.resident_bytes, 0.02);
    ASSERT_EQ(model.timeline.size(), real.timeline.size());
    for (size_t i = 0; i < real.timeline.size(); ++i) {
      EXPECT_EQ(model.timeline[i].committed_bytes, real.timeline[i].committed_bytes)
          << "after " << real.timeline[i].at;
    }
    EXPECT_GT(real.timeline.size(), 100u);
  }

  void expect_the_same_memory_without_decay(const std::string& tape) {
    expect_the_same_memory(
        replayed(tape, "jemalloc MALLOC_CONF=dirty_decay_ms:-1", "model:slabs:decay=off"));
  }

  tests::TempDir dir_;
};

TEST_F(SlabsReplay, HoldsTheMemoryOfPython) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no python3";
  expect_the_same_memory_without_decay(record_python(kJson, {}));
}

TEST_F(SlabsReplay, HoldsTheMemoryOfPythonThatCallsMallocForAll) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no python3";
  expect_the_same_memory_without_decay(record_python(kJson, {"PYTHONMALLOC=malloc"}));
}

TEST_F(SlabsReplay, HoldsTheMemoryOfADatabase) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no python3";
  expect_the_same_memory_without_decay(record_python(kSqlite, {"PYTHONMALLOC=malloc"}));
}

TEST_F(SlabsReplay, HoldsTheMemoryOfACompiler) {
  tests::write_bytes(dir_.file("a.cc"),
                     "#include <iostream>\n#include <map>\n"
                     "int main() { std::map<int, int> m; for (int i = 0; i < 9; ++i) m[i] = i;\n"
                     "for (auto& p : m) std::cout << p.second << '\\n'; }\n");
  expect_the_same_memory_without_decay(
      tests::record(dir_, {"g++", "-O1", "-c", dir_.file("a.cc"), "-o", dir_.file("a.o")}));
}

// As both are by default. The times differ, so a purge may come between that the other lacks.
TEST_F(SlabsReplay, HoldsTheMemoryOfACompilerWithin5PerCentByDefault) {
  tests::write_bytes(dir_.file("a.cc"), "#include <vector>\nstd::vector<int> v;\n");
  const std::string tape =
      tests::record(dir_, {"g++", "-O1", "-c", dir_.file("a.cc"), "-o", dir_.file("a.o")});
  const auto runs = replayed(tape, "jemalloc", "model:slabs");
  expect_near(runs[1].committed_bytes_peak.value, runs[0].committed_bytes_peak.value, 0.05);
  expect_near(runs[1].end.committed_bytes, runs[0].end.committed_bytes, 0.05);
}

}  // namespace
}  // namespace heaptape
