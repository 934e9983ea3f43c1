// What a program counts of its own calls is what its tape and its replay say of them.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "tests/support/programs.h"
#include "tests/support/recordings.h"

namespace heaptape {
namespace {

class Oracle : public testing::Test {
 protected:
  Oracle() {
    std::string output;
    tape_ = tests::record(dir_, {tests::target_path("replay_oracle")}, {}, &output);
    std::istringstream printed(output);
    for (const char* name : {"liveCount", "liveBytes", "upper", "lower", "failed", "nullFrees",
                             "temporaries", "peak", "calls"}) {
      EXPECT_TRUE(printed >> counted_[name]) << output;
    }
  }

  tests::TempDir dir_;
  std::string tape_;
  std::map<std::string, uint64_t> counted_;
};

TEST_F(Oracle, AgreesWithTheReport) {
  const auto report = tests::replay_report(dir_, tape_, {"glibc", "model:runs", "noop"});
  ASSERT_EQ(report.runs.size(), 3u);
  for (const auto& run : report.runs) {
    EXPECT_EQ(tests::count_of(run, "end.liveCount"), counted_["liveCount"]);
    EXPECT_EQ(tests::count_of(run, "end.liveBytes"), counted_["liveBytes"]);
    EXPECT_EQ(tests::count_of(run, "end.cumulativeBytesUpper"), counted_["upper"]);
    EXPECT_EQ(tests::count_of(run, "end.cumulativeBytesLower"), counted_["lower"]);
    EXPECT_EQ(tests::count_of(run, "end.temporaries"), counted_["temporaries"]);
    EXPECT_EQ(tests::count_of(run, "peak.liveBytes"), counted_["peak"]);
    EXPECT_EQ(tests::count_of(run, "accounting.failedCalls"), counted_["failed"]);
    EXPECT_EQ(tests::count_of(run, "accounting.recorded"), counted_["calls"]);
  }
}

TEST_F(Oracle, AgreesWithTheStatistics) {
  const auto outcome = tests::run({"heaptape", "stats", tape_, "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::map<std::string, std::string> names = {
      {"events", "calls"},        {"liveCount", "liveCount"},
      {"liveBytes", "liveBytes"}, {"cumulativeBytesUpper", "upper"},
      {"failedCalls", "failed"},  {"cumulativeBytesLower", "lower"},
      {"nullFrees", "nullFrees"}, {"temporaries", "temporaries"}};
  for (const auto& [in_stats, in_oracle] : names) {
    EXPECT_EQ(tests::json_number(outcome.out, in_stats), counted_[in_oracle]) << in_stats;
  }
}

TEST_F(Oracle, AgreesWithTheTableOfStatistics) {
  const auto outcome = tests::run({"heaptape", "stats", tape_});
  EXPECT_EQ(outcome.status, 0);
  std::string digits = std::to_string(counted_["calls"]);
  digits.insert(digits.size() - 3, ",");
  EXPECT_NE(outcome.out.find("events" + std::string(39 - digits.size(), ' ') + digits + "\n"),
            std::string::npos)
      << outcome.out;
}

}  // namespace
}  // namespace heaptape
