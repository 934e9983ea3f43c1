// Allocators that fail in the middle of a replay: that is their run's result, and no other's.
#include <gtest/gtest.h>

#include "schema/report/report_metrics.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

class FailingAllocator : public testing::Test {
 protected:
  FailingAllocator() {
    std::vector<schema::Event> events;
    for (uint64_t i = 0; i < 100; ++i) {
      events.push_back(tests::malloc_event(100, 0x555555560000 + i * 128));
    }
    tests::write_tape(dir_.file("t"), events);
  }
  static std::string library() {
    return "lib:" + tests::target_path("libreplay_failing_malloc.so");
  }
  // On "bad", which fails as `mode` says, and on glibc.
  tests::Ended replay(const std::string& mode, const std::string& report = "r.json") {
    return tests::run({"heaptape", "replay", dir_.file("t"), "-a",
                       "bad=" + library() + " REPLAY_FAIL=" + mode, "-a", "glibc", "-o",
                       dir_.file(report)});
  }
  void expect_failure(const std::string& mode, const std::string& event, const std::string& part) {
    SCOPED_TRACE(mode);
    const auto ended = replay(mode);
    EXPECT_EQ(ended.status, 1) << ended.describe();
    EXPECT_NE(ended.out.find("failed: bad " + event + ": "), std::string::npos) << ended.out;
    EXPECT_NE(ended.err.find("'bad' failed " + event + ": "), std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find(part), std::string::npos) << ended.err;
  }
  tests::Ended diff(const std::string& base, const std::string& now,
                    std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"heaptape", "diff", dir_.file(base), dir_.file(now)};
    words.insert(words.end(), more.begin(), more.end());
    return tests::run(words);
  }

  tests::TempDir dir_;
};

TEST_F(FailingAllocator, ThatDiesIsNamedWithTheCallAndTheReason) {
  expect_failure("crash", "at #10", "was killed by signal 11");
  expect_failure("exit", "at #10", "exited with status 3");
}

TEST_F(FailingAllocator, ThatDiesWhenItIsLoadedFailsBeforeTheFirstCall) {
  expect_failure("start", "before the first call", "was killed by signal 6");
}

// What the program did is known to the end only if one run came there.
TEST_F(FailingAllocator, TakesTheProgramOutOfTheReportOnlyWhereAllFail) {
  replay("crash");
  EXPECT_NE(tests::read_bytes(dir_.file("r.json")).find("\"blocks\": 100"), std::string::npos);
  tests::run({"heaptape", "replay", dir_.file("t"), "-a", library() + " REPLAY_FAIL=crash", "-o",
              dir_.file("r.json")});
  EXPECT_EQ(tests::read_bytes(dir_.file("r.json")).find("\"program\""), std::string::npos);
}

TEST_F(FailingAllocator, ThatPlacesImpossibleBlocksIsNamedWithTheCall) {
  expect_failure("overlap", "at #10", "over a block that is live");
  expect_failure("misalign", "at #10", "which is not a multiple of 8");
  expect_failure("short", "at #10", "with 1 usable bytes, for a request of 100");
  expect_failure("huge", "at #10", "more than there is address space");
}

TEST_F(FailingAllocator, HasANoteWhereItAlignsBlocksTooLittle) {
  std::vector<schema::Event> events = {tests::malloc_event(100, 0x555555560000)};
  for (const uint64_t address : {0x555555561000, 0x555555562000}) {
    events.push_back(tests::malloc_event(100, address));
    events.back().op = schema::Op::kValloc;
  }
  tests::write_tape(dir_.file("t"), events);
  const auto ended = replay("none");
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const char* const note =
      "note: bad: 2 blocks are aligned to less than requested, the first at #2\n";
  EXPECT_NE(ended.out.find(note), std::string::npos) << ended.out;
}

TEST_F(FailingAllocator, LetsTheOtherRunsGoOn) {
  replay("crash");
  const auto report = schema::read_figures(dir_.file("r.json"));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_NE(report->runs.at(0).failure.find("at #10"), std::string::npos);
  EXPECT_FALSE(report->runs.at(0).metric("end.liveBytes"));
  EXPECT_EQ(report->runs.at(1).failure, "");
  EXPECT_EQ(tests::count_of(report->runs.at(1), "accounting.replayed"), 100u);
}

TEST_F(FailingAllocator, IsARegressionInADiff) {
  EXPECT_EQ(replay("none", "good.json").status, 0);
  replay("crash", "bad.json");
  const auto ended = diff("good.json", "bad.json");
  EXPECT_EQ(ended.status, 1) << ended.describe();
  EXPECT_NE(ended.out.find("FAIL: 1 run failed"), std::string::npos) << ended.out;
  EXPECT_EQ(diff("bad.json", "good.json").status, 0);
}

TEST_F(FailingAllocator, FailsEveryGate) {
  EXPECT_EQ(replay("none", "good.json").status, 0);
  replay("crash", "bad.json");
  const auto ended = diff("good.json", "bad.json", {"--fail-if", "counters.memoryCalls>1G"});
  EXPECT_EQ(ended.status, 1) << ended.describe();
  EXPECT_NE(ended.out.find("[bad]  the new run failed at #10"), std::string::npos) << ended.out;
}

TEST_F(FailingAllocator, HasItsOutputInALogAndNotInTheTable) {
  const auto ended = replay("chatty");
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(ended.out.find("hello"), std::string::npos) << ended.out;
  EXPECT_EQ(tests::read_bytes(dir_.file("r.json.bad.log")), "hello from malloc\ngoodbye\n");
  EXPECT_FALSE(std::filesystem::exists(dir_.file("r.json.glibc.log")));
}

TEST_F(FailingAllocator, HasItsLastWordsInALog) {
  const auto ended = tests::run({"heaptape", "replay", dir_.file("t"), "-a",
                                 "bad=lib:" + tests::target_path("libreplay_aborting_malloc.so"),
                                 "-o", dir_.file("r.json")});
  EXPECT_EQ(ended.status, 1) << ended.describe();
  const std::string log = tests::read_bytes(dir_.file("r.json.bad.log"));
  EXPECT_NE(log.find("no more of this"), std::string::npos) << log;
}

TEST_F(FailingAllocator, IsNamedWhenItsThreadsRunAtTheSameTimeToo) {
  for (const char* mode : {"misalign", "short"}) {
    const auto ended =
        tests::run({"heaptape", "replay", dir_.file("t"), "-a",
                    "bad=" + library() + " REPLAY_FAIL=" + mode, "--threads", "free"});
    EXPECT_EQ(ended.status, 1) << mode << ended.describe();
    EXPECT_NE(ended.err.find("'bad' failed at #10: "), std::string::npos) << ended.err;
  }
}

TEST_F(FailingAllocator, LeavesNoLogOfAnEarlierReplay) {
  tests::write_bytes(dir_.file("r.json.glibc.log"), "long ago");
  EXPECT_EQ(replay("chatty").status, 0);
  EXPECT_FALSE(std::filesystem::exists(dir_.file("r.json.glibc.log")));
}

TEST_F(FailingAllocator, HasALogOfItsOwn) {
  const auto ended = tests::run({"heaptape", "replay", dir_.file("t"), "-a", "a,b=glibc", "-a",
                                 "a_b=glibc", "-o", dir_.file("r.json")});
  EXPECT_EQ(ended.status, 2) << ended.describe();
  EXPECT_NE(ended.err.find("the logs of 'a,b' and 'a_b' would be the same file"),
            std::string::npos);
}

TEST_F(FailingAllocator, HasANoteThatItPrintedSomething) {
  const auto ended =
      tests::run({"heaptape", "replay", dir_.file("t"), "-a", "jemalloc MALLOC_CONF=nonsense:1"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_NE(ended.out.find("note: jemalloc: it printed output: -o REPORT saves that in "),
            std::string::npos)
      << ended.out;
}

TEST_F(FailingAllocator, DoesNotReadAVariableThatItsFileDoesNotName) {
  const auto ended = tests::run(
      {"heaptape", "replay", dir_.file("t"), "-a",
       "jemalloc MALLOC_ARENA_MAX=2 MALLOC_CONF=narenas:1 LD_BIND_NOW=1", "-a",
       "mimalloc MIMALLOC_SHOW_STATS=1", "-a", "tcmalloc MIMALLOC_SHOW_STATS=1", "-a",
       "c=glibc MALLOC_CONF=narenas:1", "-a",
       "glibc MALLOC_ARENA_MAX=2 GLIBC_TUNABLES=glibc.malloc.mmap_max=9:glibc.malloc.mmap_mx=9",
       "-a", "d=glibc MALLOC_TOP_PAD=5"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  EXPECT_NE(ended.out.find("note: jemalloc: nothing in libjemalloc.so.2 reads MALLOC_ARENA_MAX: it "
                           "has no effect here\n"),
            std::string::npos)
      << ended.out;
  EXPECT_EQ(ended.out.find("LD_BIND_NOW"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("c: nothing in libc.so.6 reads MALLOC_CONF"), std::string::npos);
  EXPECT_NE(ended.out.find("glibc: nothing in libc.so.6 reads glibc.malloc.mmap_mx:"),
            std::string::npos);
  EXPECT_NE(ended.out.find("d: nothing in libc.so.6 reads MALLOC_TOP_PAD:"), std::string::npos);
  EXPECT_NE(ended.out.find("tcmalloc: nothing in "), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("mimalloc: nothing in "), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace heaptape
