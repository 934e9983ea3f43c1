// Replays of a tape whose times have a pause: what purges by the clock is the same in each.
#include <gtest/gtest.h>

#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

class ReplayClock : public testing::Test {
 protected:
  // 60 MB, freed; 20,000 calls in a second, and `pause_ns` later 20,000 more.
  explicit ReplayClock(uint64_t pause_ns = 60 * kSecondNs) {
    const auto address = [](uint64_t i) { return 0x555555560000 + i * 65536; };
    auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
    for (uint64_t i = 0; i < 1000; ++i) (*writer)->append(tests::malloc_event(60000, address(i)));
    for (uint64_t i = 0; i < 1000; ++i) (*writer)->append(tests::free_event(address(i)));
    (*writer)->add_time(kSecondNs);
    for (uint64_t i = 0; i < 20000; ++i) {
      if (i == 10000) (*writer)->add_time(2 * kSecondNs);
      (*writer)->append(tests::malloc_event(100000, address(0)));
      if (i == 10000) (*writer)->add_time(2 * kSecondNs + pause_ns);
      (*writer)->append(tests::free_event(address(0)));
    }
    (*writer)->add_time(3 * kSecondNs + pause_ns);
    EXPECT_TRUE((*writer)->finish({}).ok());
  }
  // The report, without its times.
  std::string figures(const std::vector<std::string>& options = {}) {
    std::string text;
    std::vector<std::string> specs = {"jemalloc"};
    if (tests::mimalloc_3().empty()) specs.emplace_back("mimalloc");
    for (const auto& run : tests::replay_report(dir_, tape_, specs, options).runs) {
      for (const schema::Metric& metric : run.metrics) {
        if (metric.name.starts_with("time.") || metric.name.starts_with("latency.")) continue;
        text += metric.name + " " +
                std::to_string(static_cast<double>(schema::number_of(metric.value))) + "\n";
      }
    }
    return text;
  }
  uint64_t jemalloc_resident(const std::vector<std::string>& options = {}) {
    return tests::count_of(tests::replay_run(dir_, tape_, "jemalloc", options),
                           "end.residentBytes");
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("t");
};

TEST_F(ReplayClock, GivesTheSameFiguresTwice) {
  const std::string first = figures();
  EXPECT_EQ(figures(), first);
  if (const std::string why = tests::mimalloc_3(); !why.empty()) GTEST_SKIP() << why;
}

TEST_F(ReplayClock, DoesNotDependOnTheNumberOfSamples) {
  const uint64_t resident = jemalloc_resident();
  EXPECT_EQ(jemalloc_resident({"--samples", "1"}), resident);
  EXPECT_EQ(jemalloc_resident({"--samples", "3000"}), resident);
}

TEST_F(ReplayClock, LetsAnIdleMinutePass) {
  EXPECT_LT(jemalloc_resident(), 5'000'000u);
  EXPECT_GT(jemalloc_resident({"--clock", "real"}), 40'000'000u);
}

TEST_F(ReplayClock, IsNamedInTheReport) {
  const auto report = tests::replay_report(dir_, tape_, {"glibc", "recorded"}, {"--clock", "real"});
  ASSERT_EQ(report.runs.size(), 2u);
  EXPECT_EQ(report.runs[0].clock, "real");
  EXPECT_EQ(report.runs[1].clock, "");
}

class ReplayOfAHurry : public ReplayClock {
 protected:
  ReplayOfAHurry() : ReplayClock(0) {}
};

TEST_F(ReplayOfAHurry, PurgesNothing) {
  EXPECT_GT(jemalloc_resident(), 40'000'000u);
}

}  // namespace
}  // namespace heaptape
