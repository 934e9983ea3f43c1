// Recordings of real programs, replayed on the model of the malloc that they ran on: without any
// memory of its own, it must put their blocks where they were.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/programs.h"
#include "tests/support/recordings.h"

namespace heaptape {
namespace {

using tests::count_of;
using tests::ratio_of;

class ReplayOnPtmalloc : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = tests::not_glibc_2_36();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  // Records the command; both runs have the blocks where they were, and held the same memory.
  void expect_faithful(const std::vector<std::string>& words, uint64_t least_calls,
                       const std::vector<std::string>& environment = {}) {
    if (access(words[0].c_str(), X_OK) != 0) GTEST_SKIP() << "there is no " << words[0];
    const std::string tape = tests::record(dir_, words, environment);
    const auto report = tests::replay_report(dir_, tape, {"model:ptmalloc", "glibc"});
    ASSERT_EQ(report.runs.size(), 2u);
    const schema::RunFigures& model = report.runs[0];
    EXPECT_GE(ratio_of(model, "fidelity.sameOffsetShare"), 0.999)
        << "the first difference is at call " << count_of(model, "fidelity.firstDifference");
    EXPECT_GT(count_of(model, "accounting.replayed"), least_calls);
    EXPECT_EQ(count_of(model, "end.committedBytes"),
              count_of(report.runs[1], "end.committedBytes"));
  }

  tests::TempDir dir_;
};

TEST_F(ReplayOnPtmalloc, PutsTheBlocksOfPythonWhereTheyWere) {
  expect_faithful({"/usr/bin/python3", "-c",
                   "import json\n"
                   "for n in range(3):\n"
                   "  rows = [{'id': i, 'name': 'n%d' % i} for i in range(20000)]\n"
                   "  json.loads(json.dumps(rows))\n"},
                  1000000, {"PYTHONMALLOC=malloc"});
}

TEST_F(ReplayOnPtmalloc, PutsTheBlocksOfSqliteWhereTheyWere) {
  expect_faithful({"/usr/bin/sqlite3", ":memory:",
                   "create table t(a integer primary key, b text);"
                   "with recursive c(x) as (select 1 union all select x + 1 from c where x < 50000)"
                   " insert into t select x, hex(zeroblob(x % 100)) from c;"
                   "delete from t where a % 3 = 0;"
                   "create index i on t(b);"
                   "update t set b = b || 'x' where a % 5 = 0;"
                   "delete from t;"},
                  300000);
}

TEST_F(ReplayOnPtmalloc, PutsTheBlocksOfTheCompilerWhereTheyWere) {
  tests::write_bytes(dir_.file("a.cc"),
                     "#include <iostream>\n#include <map>\n"
                     "int main() { std::map<int, int> m; for (int i = 0; i < 9; ++i) m[i] = i;\n"
                     "for (auto& p : m) std::cout << p.second << '\\n'; }\n");
  expect_faithful({"/usr/bin/g++", "-O1", "-c", dir_.file("a.cc"), "-o", dir_.file("a.o")}, 100000);
}

TEST_F(ReplayOnPtmalloc, PutsTheBlocksOfAProgramWithAllShapesWhereTheyWere) {
  expect_faithful({tests::target_path("replay_shapes")}, 100000);
}

}  // namespace
}  // namespace heaptape
