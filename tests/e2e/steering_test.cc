// What a program tells its allocator is on the tape, and a replay repeats it.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {
namespace {

using Words = std::vector<std::string>;

class SteeringRecorded : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  }
  void record_program(const std::string& program, const Words& arguments = {},
                      const Words& environment = {}) {
    Words words = {target_path(program)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    tape_ = record(dir_, words, environment, &output_);
  }
  std::string heaptape(const Words& arguments) const {
    Words words = {heaptape_path()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Ended ended = run_command(words);
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return ended.out;
  }
  // The lines of a dump that are no calls to malloc, without what comes before the name.
  Words steering(const std::string& tape) const {
    std::istringstream dump(heaptape({"dump", tape}));
    Words lines;
    for (std::string line; std::getline(dump, line);) {
      const bool returns = line.find(" = ") != line.npos;
      const bool frees = line.find(" free(") != line.npos || line.ends_with(" ends");
      if (!returns && !frees) lines.push_back(line.substr(line.find(' ', line.find(' ') + 1) + 1));
    }
    return lines;
  }
  Words steering() const { return steering(tape_); }

  TempDir dir_;
  std::string tape_;
  std::string output_;
};

struct Case {
  const char* name;
  Words environment;
  const char* line;  // of the dump; empty: none

  friend void PrintTo(const Case& which, std::ostream* out) { *out << which.name; }
};

class SteeredGlibc : public SteeringRecorded, public testing::WithParamInterface<Case> {};

// The margin: what the recorder itself adds to the process as it records.
TEST_P(SteeredGlibc, IsReplayedAsItRan) {
  constexpr double kShare = 0.03;
  constexpr double kMargin = 400'000;
  record_program("steering", {GetParam().name}, GetParam().environment);
  const Words expected = *GetParam().line != 0 ? Words{GetParam().line} : Words();
  EXPECT_EQ(steering(), expected);
  std::istringstream text(output_);
  double peak = 0;
  double end = 0;
  text >> peak >> end;
  ASSERT_GT(peak, 90e6) << output_;
  for (const std::string spec : {"glibc", "model:ptmalloc"}) {
    if (spec == "model:ptmalloc" && !not_glibc_2_36().empty()) continue;
    const auto run = replay_run(dir_, tape_, spec);
    EXPECT_EQ(run.failure, "");
    EXPECT_EQ(ratio_of(run, "fidelity.sameOffsetShare"), 1) << spec;
    EXPECT_NEAR(static_cast<double>(count_of(run, "peak.residentBytes")), peak,
                kShare * peak + kMargin)
        << spec;
    EXPECT_NEAR(static_cast<double>(count_of(run, "end.residentBytes")), end,
                kShare * end + kMargin)
        << spec;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SteeredGlibc,
    testing::Values(Case{"none", {}, ""}, Case{"refused", {}, ""},
                    Case{"threshold", {}, "mallopt(M_MMAP_THRESHOLD, 65536)"},
                    Case{"pad", {}, "mallopt(M_TOP_PAD, 67108864)"},
                    Case{"fast", {}, "mallopt(M_MXFAST, 0)"},
                    Case{"perturb", {}, "mallopt(M_PERTURB, 85)"},
                    Case{"unmapped", {}, "mallopt(M_MMAP_MAX, 0)"},
                    Case{"trim", {}, "malloc_trim(0)"}, Case{"keep", {}, "malloc_trim(4194304)"},
                    Case{"none", {"MALLOC_MMAP_THRESHOLD_=65536"}, ""},
                    Case{"trim", {"GLIBC_TUNABLES=glibc.malloc.top_pad=1048576"}, "malloc_trim(0)"},
                    Case{"none", {"GLIBC_TUNABLES=glibc.malloc.tcache_count=0"}, ""}),
    [](const auto& which) { return which.param.name + std::to_string(which.index); });

TEST_F(SteeringRecorded, CanBeSwitchedOff) {
  record_program("steering", {"trim"}, {"MALLOC_TOP_PAD_=1000000"});
  const auto with = replay_run(dir_, tape_, "glibc");
  const auto without = replay_run(dir_, tape_, "glibc", {"--steer", "off"});
  EXPECT_LT(count_of(with, "end.residentBytes"), 20'000'000u);
  EXPECT_GT(count_of(without, "end.residentBytes"), 80'000'000u);
  const std::string text = heaptape({"replay", tape_, "-a", "glibc", "--steer", "off"});
  EXPECT_NE(text.find("1 call of malloc_trim steered the recorded allocator: omitted"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("without settings of the recorded run (--steer off): MALLOC_TOP_PAD_"),
            std::string::npos)
      << text;
}

TEST_F(SteeringRecorded, HasCounterpartsOnOtherAllocators) {
  record_program("steering", {"trim"});
  // mimalloc gives back what it can: from a third to all of it, by its version.
  for (const std::string spec : {"jemalloc", "mimalloc", "model:slabs"}) {
    const uint64_t with = count_of(replay_run(dir_, tape_, spec), "end.residentBytes");
    const auto without = replay_run(dir_, tape_, spec, {"--steer", "off"});
    EXPECT_LT(with, spec == "mimalloc" ? 80'000'000u : 30'000'000u) << spec;
    EXPECT_GT(count_of(without, "end.residentBytes"), with) << spec;
  }
}

TEST_F(SteeringRecorded, SettingsAreShownAndCanBeDropped) {
  record_program("steering", {"trim"}, {"MALLOC_ARENA_MAX=1", "MALLOC_CONF=prof_prefix:/home/me"});
  const std::string info = heaptape({"info", tape_});
  EXPECT_NE(info.find("\nsetting    MALLOC_ARENA_MAX=1\n"), std::string::npos) << info;
  EXPECT_EQ(info.find("/home/me"), std::string::npos) << info;
  EXPECT_NE(heaptape({"info", tape_, "--json"}).find("\"settings\": [\"MALLOC_ARENA_MAX=1\"]"),
            std::string::npos);
  const auto scrubbed = [&](const std::string& name, const Words& options) {
    Words words = {"scrub", tape_, "-o", dir_.file(name)};
    words.insert(words.end(), options.begin(), options.end());
    heaptape(words);
    return heaptape({"info", dir_.file(name)});
  };
  EXPECT_NE(scrubbed("a", {}).find("MALLOC_ARENA_MAX"), std::string::npos);
  EXPECT_EQ(scrubbed("b", {"--drop-settings"}).find("MALLOC_ARENA_MAX"), std::string::npos);
  EXPECT_EQ(steering(dir_.file("b")), (Words{"malloc_trim(0)"}));
}

// It has its parent's heap as its parent set it up.
TEST_F(SteeringRecorded, SetsUpAForkedChild) {
  record_program("steering", {"forked"});  // the child makes most calls
  EXPECT_EQ(steering(dir_.file("r.tape")).size(), 3u);
  EXPECT_EQ(steering(), Words{"mallopt(M_MMAP_THRESHOLD, 65536)"});
  EXPECT_TRUE(heaptape({"dump", tape_}).starts_with("0 t0 mallopt("));
  const auto steered = replay_run(dir_, tape_, "glibc");
  const auto plain = replay_run(dir_, tape_, "glibc", {"--steer", "off"});
  EXPECT_LT(count_of(steered, "end.residentBytes"), 10'000'000u);
  EXPECT_GT(count_of(plain, "end.residentBytes"), 80'000'000u);
}

// A part begins with the settings that last; calls made once before it are gone.
TEST_F(SteeringRecorded, SetsUpAPartOfATape) {
  record_program("steering", {"threshold"});
  heaptape({"scrub", tape_, "-o", dir_.file("part"), "--from", "500"});
  EXPECT_EQ(steering(dir_.file("part")), (Words{"mallopt(M_MMAP_THRESHOLD, 65536)"}));
  record_program("steering", {"trim"});
  heaptape({"scrub", tape_, "-o", dir_.file("rest"), "--from", "3009"});
  EXPECT_TRUE(steering(dir_.file("rest")).empty());
  heaptape({"scrub", tape_, "-o", dir_.file("begin"), "--to", "500"});
  EXPECT_TRUE(steering(dir_.file("begin")).empty());
}

TEST_F(SteeringRecorded, IsInNdjson) {
  record_program("steering", {"threshold"});
  const std::string dump = heaptape({"dump", tape_, "--format", "ndjson"});
  EXPECT_NE(dump.find("\"thread\":0,\"steering\":\"mallopt\",\"first\":-3,\"second\":65536}\n"),
            std::string::npos);
}

struct OwnCase {
  const char* library;
  const char* program;
  Words lines;

  friend void PrintTo(const OwnCase& which, std::ostream* out) { *out << which.library; }
};

class SteeredByItsOwn : public SteeringRecorded, public testing::WithParamInterface<OwnCase> {};

TEST_P(SteeredByItsOwn, IsRecordedThoughNothingIsExported) {
  const OwnCase& which = GetParam();
  const Words environment = {std::string("LD_PRELOAD=") + which.library};
  const CommandLine alone{.words = {target_path(which.program)}, .environment = environment};
  const Ended plain = run_command(alone);
  EXPECT_EQ(plain.status, 0) << plain.describe();
  record_program(which.program, {}, environment);
  EXPECT_EQ(output_, plain.out) << "it has no other functions than without the recorder";
  EXPECT_EQ(steering(), which.lines);
}

const Words kJemallocLines = {"arena.dirty_decay_ms(0, -1)", "arena.purge(4096)",
                              "thread.tcache.flush()", "thread.tcache.enabled(0)",
                              "arena.muzzy_decay_ms(0, 0)"};

INSTANTIATE_TEST_SUITE_P(
    All, SteeredByItsOwn,
    testing::Values(OwnCase{"", "steering_own", {}},
                    OwnCase{"libjemalloc.so.2", "steering_own", kJemallocLines},
                    OwnCase{"", "steering_own_fixed", kJemallocLines},
                    OwnCase{mimalloc_library(),
                            "steering_own",
                            {"mi_option_set(15, 20)", "mi_option_set(6, 1)", "mi_collect(1)"}},
                    OwnCase{"libtcmalloc_minimal.so.4",
                            "steering_own",
                            {"tcmalloc.max_total_thread_cache_bytes(1048576)",
                             "MallocExtension_ReleaseToSystem(4096)",
                             "MallocExtension_ReleaseFreeMemory()"}}),
    [](const auto& which) { return "Case" + std::to_string(which.index); });

TEST_F(SteeringRecorded, StaysAwayFromFunctionsOfTheSameName) {
  record_program("steering_wrapped", {},
                 {"LD_PRELOAD=" + target_path("libsteering_wrapper.so") + ":libjemalloc.so.2"});
  EXPECT_EQ(output_, "wrapped arena.1.purge\nwrapped arena.0.purge\n");
  EXPECT_TRUE(steering().empty());
}

// gperftools has a mallopt that does nothing.
TEST_F(SteeringRecorded, IsNotMalloptOnTcmalloc) {
  record_program("steering", {"pad"}, {"LD_PRELOAD=libtcmalloc_minimal.so.4"});
  EXPECT_TRUE(steering().empty());
  record_program("steering", {"pad"});
  const std::string text = heaptape({"replay", tape_, "-a", "tcmalloc"});
  EXPECT_NE(
      text.find("1 call of mallopt steered the recorded allocator: omitted, because this one"),
      std::string::npos)
      << text;
}

TEST_F(SteeringRecorded, IsInADumpBeforeItsNextCall) {
  record_program("steering", {"trim"});
  const std::string dump = heaptape({"dump", tape_, "--from", "3007"});
  EXPECT_TRUE(dump.starts_with("3006 t0 malloc_trim(0)\n3007 ")) << dump;
}

TEST_F(SteeringRecorded, IsRepeatedForTimesAndSideBySide) {
  record_program("steering", {"trim"});
  const auto report =
      replay_report(dir_, tape_, {"glibc", "jemalloc", "model:ptmalloc"}, {"--jobs", "3"});
  for (const auto& run : report.runs) {
    EXPECT_LT(count_of(run, "end.residentBytes"), 20'000'000u) << run.label;
  }
  const auto timed = replay_run(dir_, tape_, "glibc", {"--repeat", "2"});
  EXPECT_EQ(timed.failure, "");
  EXPECT_GT(count_of(timed, "time.replayNs"), 0u);
}

// The part ends with the trim behind its last call.
TEST_F(SteeringRecorded, BelongsToTheCallBeforeIt) {
  record_program("steering", {"trim"});
  EXPECT_LT(count_of(replay_run(dir_, tape_, "glibc", {"--to", "3006"}), "end.residentBytes"),
            20'000'000u);
  EXPECT_GT(count_of(replay_run(dir_, tape_, "glibc", {"--to", "3005"}), "end.residentBytes"),
            80'000'000u);
}

TEST_F(SteeringRecorded, IsRepeatedByTheSameAllocator) {
  record_program("steering_own", {}, {"LD_PRELOAD=libjemalloc.so.2"});
  const std::string text = heaptape({"replay", tape_, "-a", "jemalloc", "-a", "model:slabs"});
  EXPECT_EQ(text.find("steered"), text.rfind("steered")) << text << "model:slabs has no switches";
  EXPECT_EQ(text.find("replaced by"), std::string::npos) << text;
  for (const char* const spec : {"jemalloc", "model:slabs"}) {
    EXPECT_LT(count_of(replay_run(dir_, tape_, spec), "end.residentBytes"), 10'000'000u) << spec;
    EXPECT_GT(count_of(replay_run(dir_, tape_, spec, {"--steer", "off"}), "end.residentBytes"),
              30'000'000u)
        << spec;
  }
}

}  // namespace
}  // namespace heaptape::tests
