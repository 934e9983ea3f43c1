// What replays of one tape agree on: two of a kind on every figure but times, all of them on what
// the program did.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "allocators/catalog/catalog.h"
#include "base/output_file.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"

namespace heaptape {
namespace {

// Those whose replays are alike: tests report by skip_mimalloc() if one is missing.
std::vector<std::string> real_allocators() {
  if (!tests::mimalloc_3().empty()) return {"glibc", "jemalloc", "tcmalloc"};
  return {"glibc", "jemalloc", "mimalloc", "tcmalloc"};
}

void skip_mimalloc() {
  if (const std::string why = tests::mimalloc_3(); !why.empty()) GTEST_SKIP() << why;
}

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const allocators::CatalogEntry& entry : allocators::catalog()) {
    if (entry.name.starts_with("model:")) names.push_back(entry.name);
  }
  return names;
}

// Of 8 threads that free each other's blocks, end, and are followed by others.
class ReplaysOfOneTape : public testing::Test {
 protected:
  // The metrics that `wanted` takes, of each run.
  template <typename Wanted>
  std::string figures(const std::string& tape, const std::vector<std::string>& specs,
                      const std::string& threads, Wanted wanted,
                      std::vector<std::string> options = {}) {
    std::string text;
    options.insert(options.end(), {"--threads", threads, "--samples", "16"});
    for (const schema::RunFigures& run : tests::replay_report(dir_, tape, specs, options).runs) {
      EXPECT_EQ(run.failure, "") << run.label;
      for (const schema::Metric& metric : run.metrics) {
        if (!wanted(metric.name)) continue;
        const auto value = static_cast<double>(schema::number_of(metric.value));
        text += run.label + " " + metric.name + " " + std::to_string(value) + "\n";
      }
    }
    return text;
  }
  // Nor page faults, which the kernel may save by mapping a neighboring page at the same time.
  std::string all_but_times(const std::vector<std::string>& specs, const std::string& threads,
                            const std::vector<std::string>& options = {}) {
    const auto repeats = [](const std::string& name) {
      return !name.starts_with("time.") && !name.starts_with("latency.") &&
             name != "counters.pageFaults";
    };
    return figures(tape_, specs, threads, repeats, options);
  }
  // The same for every allocator.
  std::string of_the_program(const std::string& tape, const std::string& spec,
                             const std::string& threads) {
    std::string text = figures(tape, {"x=" + spec}, threads, [](const std::string& name) {
      for (const char* part : {"live", "cumulative", "temporaries", "accounting."}) {
        if (name.find(part) != std::string::npos) return true;
      }
      return false;
    });
    EXPECT_NE(text.find("peak.liveBytes"), std::string::npos) << text;
    return text;
  }

  tests::TempDir dir_;
  std::string tape_ = tests::record(dir_, {tests::target_path("replay_fuzz"), "1", "20000", "8"});
};

TEST_F(ReplaysOfOneTape, GiveTheSameFiguresMerged) {
  const std::string first = all_but_times(real_allocators(), "merged");
  EXPECT_EQ(all_but_times(real_allocators(), "merged"), first);
  skip_mimalloc();
}

TEST_F(ReplaysOfOneTape, GiveTheSameFiguresOrdered) {
  const std::string first = all_but_times(real_allocators(), "ordered");
  EXPECT_EQ(all_but_times(real_allocators(), "ordered"), first);
  skip_mimalloc();
}

TEST_F(ReplaysOfOneTape, GiveTheSameFiguresOnModels) {
  ASSERT_GE(models().size(), 16u);
  const std::string first = all_but_times(models(), "ordered");
  EXPECT_EQ(all_but_times(models(), "ordered"), first);
}

// More of them than jobs, fewer, and as many.
TEST_F(ReplaysOfOneTape, GiveTheSameFiguresSideBySide) {
  std::vector<std::string> specs = models();
  for (const std::string& spec : real_allocators()) specs.push_back(spec);
  const std::string expected = all_but_times(specs, "ordered");
  for (const char* const jobs : {"2", "3", "100"}) {
    EXPECT_EQ(all_but_times(specs, "ordered", {"--jobs", jobs}), expected) << jobs;
  }
  EXPECT_EQ(all_but_times({specs[0]}, "ordered", {"--jobs", "2"}),
            all_but_times({specs[0]}, "ordered"));
  skip_mimalloc();
}

TEST_F(ReplaysOfOneTape, GiveNearlyTheSamePageFaultsSideBySide) {
  const auto enabled = base::read_file("/sys/kernel/mm/transparent_hugepage/enabled", 4096);
  if (enabled && enabled->find("[always]") != std::string::npos) {
    GTEST_SKIP() << "a huge page saves 511 faults, if there is one";
  }
  const auto faults = [&](const char* jobs) {
    std::map<std::string, uint64_t> counts;
    const std::vector<std::string> options = {"--threads", "ordered", "--samples",
                                              "16",        "--jobs",  jobs};
    for (const schema::RunFigures& run :
         tests::replay_report(dir_, tape_, real_allocators(), options).runs) {
      counts[run.label] = tests::count_of(run, "counters.pageFaults");
    }
    return counts;
  };
  const auto expected = faults("1");
  for (const auto& [label, count] : faults("3")) {
    EXPECT_GT(count, 5000u) << label;
    EXPECT_NEAR(static_cast<double>(count), static_cast<double>(expected.at(label)), 64) << label;
  }
  skip_mimalloc();
}

// What allocators are asked to give back, they give back side by side, too.
TEST_F(ReplaysOfOneTape, GiveBackTheSameSideBySide) {
  const std::vector<std::string> specs = {"glibc", "model:ptmalloc", "model:slabs"};
  const std::vector<std::string> actions = {"--do", "trim@1000", "--do", "trim@end"};
  std::vector<std::string> side_by_side = {"--jobs", "3"};
  side_by_side.insert(side_by_side.end(), actions.begin(), actions.end());
  EXPECT_EQ(all_but_times(specs, "ordered", side_by_side),
            all_but_times(specs, "ordered", actions));
}

// How long that took is a time, too.
TEST_F(ReplaysOfOneTape, DoNotSayHowLongAnActionTookSideBySide) {
  std::vector<std::string> words = {"heaptape", "replay", tape_, "-a", "glibc", "--do", "trim@end"};
  EXPECT_NE(tests::run(words).out.find(" took "), std::string::npos);
  words.insert(words.end(), {"-a", "model:bump", "--jobs", "2"});
  EXPECT_EQ(tests::run(words).out.find(" took "), std::string::npos);
}

TEST_F(ReplaysOfOneTape, AgreeOnTheProgramWhateverTheThreads) {
  const std::string expected = of_the_program(tape_, "recorded", "merged");
  for (const char* threads : {"merged", "ordered", "lockstep", "free"}) {
    for (const std::string& spec : real_allocators()) {
      EXPECT_EQ(of_the_program(tape_, spec, threads), expected) << spec << " " << threads;
    }
  }
  skip_mimalloc();
}

TEST_F(ReplaysOfOneTape, AgreeOnTheProgramWhateverTheModel) {
  const std::string expected = of_the_program(tape_, "recorded", "merged");
  for (const std::string& model : models()) {
    EXPECT_EQ(of_the_program(tape_, model, "ordered"), expected) << model;
  }
}

// One sentence, and the same, however many of them there are.
TEST_F(ReplaysOfOneTape, EndAtItsDamageSideBySideToo) {
  std::string bytes = tests::read_bytes(tape_);
  bytes[bytes.size() / 2] ^= 1;
  tests::write_bytes(tape_, bytes);
  std::vector<std::string> words = {"heaptape", "replay", tape_,        "-a",
                                    "glibc",    "-a",     "model:slabs"};
  const auto in_turn = tests::run(words);
  words.insert(words.end(), {"--jobs", "2"});
  const auto side_by_side = tests::run(words);
  EXPECT_EQ(side_by_side.status, 2) << side_by_side.describe();
  EXPECT_NE(side_by_side.err.find("damaged"), std::string::npos) << side_by_side.err;
  EXPECT_EQ(side_by_side.err, in_turn.err);
  EXPECT_EQ(side_by_side.out, "");
}

// In the middle of what its threads did.
TEST_F(ReplaysOfOneTape, AgreeOnATapeThatWasCutOff) {
  const std::string whole = tests::read_bytes(tape_);
  const std::string cut = dir_.file("cut.tape.partial");
  tests::write_bytes(cut, whole.substr(0, whole.size() * 2 / 3));
  const std::string expected = of_the_program(cut, "recorded", "merged");
  EXPECT_NE(expected, of_the_program(tape_, "recorded", "merged"));
  for (const char* threads : {"merged", "ordered", "lockstep", "free"}) {
    EXPECT_EQ(of_the_program(cut, "glibc", threads), expected) << threads;
  }
}

}  // namespace
}  // namespace heaptape
