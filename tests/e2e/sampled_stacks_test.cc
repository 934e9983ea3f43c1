// heaptape record --stacks MODE,every=BYTES: what the stacks of some calls say of all.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "replayer/sites/sample_weight.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

constexpr uint64_t kEvery = 16'384;

// Of all calls for so many bytes.
struct Estimate {
  double calls = 0;
  uint64_t sampled = 0;
  uint64_t exact = 0;
};

class SampledStacks : public testing::Test {
 protected:
  void record(const std::string& mode, const std::string& program = "sampled_stacks") {
    const auto ended = tests::run({"heaptape", "record", "--force", "--stacks", mode, "-o", tape_,
                                   "--", tests::target_path(program)});
    ASSERT_EQ(ended.status, 0) << ended.describe();
  }
  // By size of the block, of the target's functions.
  static std::map<uint64_t, Estimate> estimates(const std::string& path) {
    auto tape = schema::TapeReader::open(path);
    EXPECT_TRUE(tape.ok()) << path;
    EXPECT_EQ(tape->header().stacks.every_bytes, kEvery);
    const replayer::SampleWeight weight(tape->header().stacks.every_bytes);
    std::map<uint64_t, Estimate> estimates{{48, {}}, {3000, {}}, {300'000, {}}};
    schema::EventBatch batch;
    do {
      EXPECT_TRUE(tape->read(batch, 1000).ok());
      for (size_t i = 0; i < batch.events.size(); ++i) {
        const auto found = estimates.find(batch.events[i].size);
        if (found == estimates.end() || batch.events[i].address == 0) continue;
        ++found->second.exact;
        if (batch.stacks.empty() || batch.stacks[i] == 0) continue;
        ++found->second.sampled;
        found->second.calls += weight.of(batch.events[i].size);
      }
    } while (!batch.events.empty());
    return estimates;
  }
  // Within six standard deviations.
  static void expect_right(const std::map<uint64_t, Estimate>& estimates, uint64_t times) {
    EXPECT_EQ(estimates.at(48).exact, times * 200'000);
    EXPECT_EQ(estimates.at(3000).exact, times * 5'000);
    EXPECT_EQ(estimates.at(300'000).exact, times * 40);
    for (const auto& [size, estimate] : estimates) {
      const double chance = 1 / replayer::SampleWeight(kEvery).of(size);
      const auto exact = static_cast<double>(estimate.exact);
      const double deviation = std::sqrt(exact * (1 - chance) / chance);
      EXPECT_NEAR(estimate.calls, exact, 6 * deviation + 0.001) << size;
      EXPECT_NEAR(static_cast<double>(estimate.sampled), exact * chance,
                  6 * std::sqrt(exact * chance) + 0.001)
          << size;
    }
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("a.tape");
};

TEST_F(SampledStacks, StandForAllCalls) {
  record("dwarf,every=16KiB");
  expect_right(estimates(tape_), 2);
}

TEST_F(SampledStacks, StandForAllCallsOfAProgramThatAllocatesEarly) {
  record("dwarf,every=16KiB", "sampled_early");
  expect_right(estimates(tape_), 2);
}

TEST_F(SampledStacks, AreThoseOfChildrenToo) {
  record("dwarf,every=16KiB");
  size_t children = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
    if (file.path().extension() != ".tape" || file.path() == tape_) continue;
    expect_right(estimates(file.path()), 1);
    ++children;
  }
  EXPECT_EQ(children, 1u);
}

TEST_F(SampledStacks, AreFoundByFramePointersToo) {
  record("fp,depth=3,every=16KiB");
  expect_right(estimates(tape_), 2);
}

TEST_F(SampledStacks, AreInTheFactsOfTheTape) {
  record("dwarf,depth=30,every=16KiB");
  const std::string facts = tests::run({"heaptape", "info", tape_}).out;
  EXPECT_NE(facts.find("\nstacks     found by unwind tables, up to 30 frames, of calls chosen "
                       "at random, about one per 16.0 KiB requested"),
            std::string::npos)
      << facts;
  const std::string json = tests::run({"heaptape", "info", "--json", tape_}).out;
  EXPECT_NE(json.find(R"("stacks": {"unwinding": "dwarf", "depth": 30, "everyBytes": 16384})"),
            std::string::npos)
      << json;
}

TEST_F(SampledStacks, AreSaidToBeEstimates) {
  record("dwarf,every=16KiB");
  const auto ended = tests::run({"heaptape", "stats", "--by", "site", tape_});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("\nwhole tape "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("one byte in 16.0 KiB"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("(no stack)"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace heaptape
