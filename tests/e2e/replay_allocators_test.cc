// Replays on each real allocator: its environment reaches it, every kind of call works, and what is
// touched is resident.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using tests::count_of;
using tests::ratio_of;

constexpr uint64_t kBase = 0x555555560000;

class ReplayOnAllocators : public testing::Test {
 protected:
  std::string tape(const std::vector<schema::Event>& events) {
    tests::write_tape(dir_.file("t"), events);
    return dir_.file("t");
  }
  std::string random_tape(size_t count) {
    tests::Random random(11);
    return tape(tests::eventful_events(random, count));
  }
  // `count` blocks, all alive at the end.
  std::string blocks(size_t count, uint64_t size) {
    std::vector<schema::Event> events;
    for (size_t i = 0; i < count; ++i) {
      events.push_back(tests::malloc_event(size, kBase + i * (size + 16)));
    }
    return tape(events);
  }
  schema::RunFigures run(const std::string& tape, const std::string& spec,
                         const std::vector<std::string>& options = {}) {
    return tests::replay_run(dir_, tape, spec, options);
  }

  tests::TempDir dir_;
};

TEST_F(ReplayOnAllocators, ReplaysEveryKindOfCall) {
  const std::string tape = random_tape(30000);
  const auto report =
      tests::replay_report(dir_, tape, {"glibc", "jemalloc", "mimalloc", "tcmalloc"});
  ASSERT_EQ(report.runs.size(), 4u);
  for (const auto& run : report.runs) {
    EXPECT_EQ(count_of(run, "accounting.refused"), 0u) << run.label;
    EXPECT_GE(count_of(run, "end.usableBytes"), count_of(run, "end.liveBytes")) << run.label;
    EXPECT_GE(count_of(run, "end.committedBytes"), count_of(run, "end.usableBytes")) << run.label;
    EXPECT_GE(count_of(run, "end.committedBytes"), count_of(run, "end.residentBytes")) << run.label;
  }
}

TEST_F(ReplayOnAllocators, GivesJemallocItsConfiguration) {
  std::vector<schema::Event> events;
  for (uint64_t i = 0; i < 500; ++i)
    events.push_back(tests::malloc_event(60000, kBase + i * 65536));
  for (uint64_t i = 0; i < 500; ++i) events.push_back(tests::free_event(kBase + i * 65536));
  const std::string emptied = tape(events);
  const auto lazy = run(emptied, "jemalloc MALLOC_CONF=dirty_decay_ms:-1");
  const auto eager = run(emptied, "jemalloc MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0");
  EXPECT_EQ(eager.backend, "jemalloc MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0");
  EXPECT_GT(count_of(lazy, "end.residentBytes"), 500 * 60000u);
  EXPECT_LT(count_of(eager, "end.residentBytes"), 1000000u);
}

TEST_F(ReplayOnAllocators, GivesGlibcItsTunables) {
  const std::string tape = blocks(100, 50000);
  const auto as_is = run(tape, "glibc");
  const auto mapping = run(tape, "glibc GLIBC_TUNABLES=glibc.malloc.mmap_threshold=40000");
  EXPECT_GE(count_of(mapping, "counters.memoryCalls"), 100u);
  EXPECT_LT(count_of(as_is, "counters.memoryCalls"), 60u);
  EXPECT_GE(count_of(mapping, "counters.mallinfoHblkhd"), 100 * 50000u);
}

// Memory that is mapped and given back again is new each time.
TEST_F(ReplayOnAllocators, CountsThePageFaultsOfCalls) {
  std::vector<schema::Event> events;
  for (int i = 0; i < 100; ++i) {
    events.push_back(tests::malloc_event(200000, kBase));
    events.push_back(tests::free_event(kBase));
  }
  const std::string again = tape(events);
  const auto faults = [&](const std::string& spec) {
    return count_of(run(again, spec), "counters.pageFaults");
  };
  const uint64_t kept = faults("glibc");
  EXPECT_LT(kept, 200u);
  EXPECT_GE(faults("glibc GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072"), 100 * 48u);
}

TEST_F(ReplayOnAllocators, KeepsTheEnvironmentOfOneFromTheOther) {
  const std::string tape = blocks(100, 50000);
  const auto report = tests::replay_report(
      dir_, tape, {"a=glibc GLIBC_TUNABLES=glibc.malloc.mmap_threshold=40000", "b=glibc"});
  ASSERT_EQ(report.runs.size(), 2u);
  EXPECT_GT(count_of(report.runs[0], "counters.mallinfoHblkhd"), 0u);
  EXPECT_EQ(count_of(report.runs[1], "counters.mallinfoHblkhd"), 0u);
}

TEST_F(ReplayOnAllocators, LeavesUntouchedMemoryUnoccupied) {
  const std::string tape = blocks(1000, 100000);
  const auto none = run(tape, "glibc", {"--touch", "none"});
  const auto page = run(tape, "glibc");
  const auto all = run(tape, "glibc", {"--touch", "all"});
  EXPECT_LT(count_of(none, "end.residentBytes") * 10, count_of(page, "end.residentBytes"));
  EXPECT_GE(count_of(page, "end.residentBytes"), count_of(page, "end.liveBytes"));
  EXPECT_EQ(count_of(page, "end.residentBytes"), count_of(all, "end.residentBytes"));
  EXPECT_EQ(none.touch, "none");
  EXPECT_EQ(all.touch, "all");
}

// In mappings of their own, and in the heap.
TEST_F(ReplayOnAllocators, AgreeWithTheModelOnWhatIsSkippedToAlignBlocks) {
  if (const std::string why = tests::not_glibc_2_36(); !why.empty()) GTEST_SKIP() << why;
  constexpr uint64_t kApart = 64 << 20;
  for (const auto& [size, alignment] : {std::pair(1'100'000, 2 << 20), std::pair(3000, 32 << 10)}) {
    std::vector<schema::Event> events;
    for (uint64_t i = 0; i < 40; ++i) {
      schema::Event event = tests::malloc_event(size, kBase / kApart * kApart + i * kApart);
      event.op = schema::Op::kMemalign;
      event.alignment = alignment;
      events.push_back(event);
    }
    const std::string aligned = tape(events);
    const uint64_t real = count_of(run(aligned, "glibc"), "end.residentBytes");
    const uint64_t model = count_of(run(aligned, "model:ptmalloc"), "end.residentBytes");
    EXPECT_NEAR(static_cast<double>(model), static_cast<double>(real),
                0.02 * static_cast<double>(real))
        << size;
    EXPECT_LT(real, 40u * size + 40 * 4 * 4096) << size;
  }
}

// glibc copies a block of the heap, and moves the pages of one that has a mapping of its own.
TEST_F(ReplayOnAllocators, LeavesTheCopiesOfReallocToTheAllocator) {
  const auto resident = [this](uint64_t size) {
    const auto moved = tape({tests::malloc_event(size, kBase), tests::malloc_event(16, kBase - 64),
                             tests::realloc_event(kBase, size * 2, kBase + (1 << 30))});
    return count_of(run(moved, "glibc", {"--touch", "none"}), "end.residentBytes");
  };
  EXPECT_GE(resident(60'000), 60'000u);
  EXPECT_LT(resident(1'000'000), 60'000u);
}

TEST_F(ReplayOnAllocators, ReplaysOnALibraryByItsPath) {
  const std::string tape = blocks(100, 64);
  const auto bare = run(tape, "mine=lib:" + tests::target_path("libreplay_bare_malloc.so"));
  EXPECT_EQ(bare.label, "mine");
  EXPECT_EQ(count_of(bare, "accounting.replayed"), 100u);
  EXPECT_EQ(count_of(bare, "end.committedBytes"), uint64_t{64} << 20);
}

TEST_F(ReplayOnAllocators, CountsEverythingAsRefusedWhereThereIsNoMemory) {
  const auto none = run(blocks(100, 64), "lib:" + tests::target_path("libreplay_null_malloc.so"));
  EXPECT_EQ(count_of(none, "accounting.refused"), 100u);
  EXPECT_EQ(count_of(none, "accounting.replayed"), 0u);
  EXPECT_EQ(count_of(none, "end.liveBytes"), 6400u);
  EXPECT_EQ(count_of(none, "end.usableBytes"), 0u);
}

TEST_F(ReplayOnAllocators, CountsWhatThreadsAtTheSameTimeAreRefused) {
  const auto none = run(blocks(100, 64), "lib:" + tests::target_path("libreplay_null_malloc.so"),
                        {"--threads", "free"});
  EXPECT_EQ(count_of(none, "accounting.refused"), 100u);
  EXPECT_EQ(count_of(none, "accounting.replayed"), 0u);
}

TEST_F(ReplayOnAllocators, TimesSomeOfTheCalls) {
  const std::string tape = blocks(50000, 64);
  const std::string report = dir_.file("report.json");
  run(tape, "glibc");
  const std::string json = tests::read_bytes(report);
  EXPECT_NE(json.find("\"op\": \"malloc\", \"samples\": 819"), std::string::npos);
}

TEST_F(ReplayOnAllocators, TellsLatenciesApartByTheSizeOfTheBlock) {
  std::vector<schema::Event> events;
  for (int i = 0; i < 20000; ++i) {
    events.push_back(tests::malloc_event(64, 0x7ffff0000010));
    events.push_back(tests::malloc_event(5000, 0x7ffff1000010));
    events.push_back(tests::free_event(0x7ffff0000010));
    events.push_back(tests::free_event(0x7ffff1000010));
  }
  const auto timed = run(tape(events), "glibc");
  for (const std::string call : {"malloc", "free"}) {
    const auto all = static_cast<double>(count_of(timed, "latency." + call + ".samples"));
    EXPECT_NEAR(count_of(timed, "latency." + call + ".to64.samples"), all / 2, all / 10);
    EXPECT_NEAR(count_of(timed, "latency." + call + ".to128KiB.samples"), all / 2, all / 10);
    EXPECT_FALSE(timed.metric("latency." + call + ".to512.samples"));
  }
}

// One call in 61 is timed.
TEST_F(ReplayOnAllocators, NamesTheSlowestOfTheTimedCalls) {
  const auto timed = run(blocks(50000, 64), "glibc");
  EXPECT_EQ(count_of(timed, "latency.malloc.maxAt") % 61, 0u);
  EXPECT_GT(count_of(timed, "latency.malloc.maxAt"), 0u);
  EXPECT_LE(count_of(timed, "latency.malloc.p999Ns"), count_of(timed, "latency.malloc.maxNs"));
  EXPECT_GT(ratio_of(timed, "time.stampNs"), 0);
}

TEST_F(ReplayOnAllocators, TakesTheMedianOfRepeats) {
  const auto report =
      tests::replay_report(dir_, blocks(5000, 64), {"glibc", "model:runs"}, {"--repeat", "3"});
  const auto& glibc = report.runs.at(0);
  EXPECT_EQ(count_of(glibc, "time.repeats"), 3u);
  EXPECT_LE(ratio_of(glibc, "time.nsPerEventMin"), ratio_of(glibc, "time.nsPerEvent"));
  EXPECT_LE(ratio_of(glibc, "time.nsPerEvent"), ratio_of(glibc, "time.nsPerEventMax"));
  EXPECT_TRUE(glibc.notes.empty()) << glibc.notes.at(0);
  EXPECT_EQ(count_of(report.runs.at(1), "time.repeats"), 1u);
}

// 100,000 times a mapping and its end: 200,000 memory calls, in 16,384 ops a batch.
TEST_F(ReplayOnAllocators, FollowsAStormOfMappings) {
  std::vector<schema::Event> events;
  for (int i = 0; i < 100000; ++i) {
    events.push_back(tests::malloc_event(200000, 0x7ffff0000010));
    events.push_back(tests::free_event(0x7ffff0000010));
  }
  const std::string storm = tape(events);
  const auto mapped = run(storm, "glibc GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072",
                          {"--touch", "none", "--to", "60000"});
  EXPECT_GE(count_of(mapped, "counters.memoryCalls"), 60000u);
  EXPECT_EQ(count_of(mapped, "counters.mallinfoLargestDifference"), 0u);
  EXPECT_EQ(count_of(mapped, "end.usableBytes"), 0u);
  EXPECT_EQ(count_of(run(storm, "recorded"), "end.committedBytes"), 0u);
}

// What the dynamic linker finds in the program file (readelf -d).
TEST(WorkerProgram, NeedsLibcAlone) {
  const std::string worker = tests::heaptape_path() + "/../../lib/heaptape/heaptape-worker";
  const auto outcome = tests::run({"sh", "-c", "readelf -d \"$(realpath -m " + worker + ")\""});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  size_t needed = 0;
  for (size_t at = 0; (at = outcome.out.find("(NEEDED)", at)) != std::string::npos; ++at) ++needed;
  EXPECT_EQ(needed, 1u) << outcome.out;
  EXPECT_NE(outcome.out.find("[libc.so.6]"), std::string::npos) << outcome.out;
}

// As by a full disk during the installation. Each would crash, or the program would.
TEST(PartsOfHeaptape, ThatWereCutShortAreNamed) {
  namespace fs = std::filesystem;
  const tests::TempDir dir;
  const fs::path built = fs::path(tests::heaptape_path()).parent_path().parent_path();
  fs::create_directories(dir.file("bin"));
  fs::copy(tests::heaptape_path(), dir.file("bin/heaptape"));
  fs::copy(built / "lib", dir.file("lib"), fs::copy_options::recursive);
  tests::write_tape(dir.file("x.tape"), {tests::malloc_event(24, 0x10000)});
  const auto run = [&dir](const std::string& words) {
    return tests::run({"sh", "-c", "cd " + dir.path().string() + " && bin/heaptape " + words});
  };
  const std::string replay = "replay x.tape -a glibc";
  const std::string record = "record -o y.tape -- true";
  const fs::path worker = dir.file("lib/heaptape/heaptape-worker");
  fs::permissions(worker, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(run(replay).status, 2);
  EXPECT_EQ(run(replay).err, "heaptape: cannot execute part of heaptape, '" +
                                 fs::canonical(worker).string() + "': Permission denied\n");
  fs::permissions(worker, fs::perms::owner_all);
  for (const std::string& words : {replay, record}) {
    EXPECT_EQ(run(words).status, 0) << words;
    const fs::path part = dir.file(words == replay ? "lib/heaptape/heaptape-worker"
                                                   : "lib/heaptape/libheaptape-interposer.so");
    fs::resize_file(part, fs::file_size(part) / 2);
    const auto outcome = run(words);
    EXPECT_EQ(outcome.status, 2) << words;
    const std::string sentence = "heaptape: part of heaptape is damaged: '" +
                                 fs::canonical(part).string() + "'; reinstall heaptape\n";
    EXPECT_EQ(outcome.err, sentence);
    fs::remove(part);
    ASSERT_EQ(mkfifo(part.c_str(), 0600), 0);
    EXPECT_EQ(run(words).err, sentence);  // which did not wait
  }
}

}  // namespace
}  // namespace heaptape
