#include "replayer/engine/run_notes.h"

#include <gtest/gtest.h>

#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using tests::free_event;
using tests::malloc_event;

using Notes = std::vector<std::string>;

// A tape of glibc with one call of each of `threads` threads.
class RunNotes : public testing::Test {
 protected:
  void threads(uint32_t count) {
    schema::EventBatch batch;
    for (uint32_t i = 0; i < count; ++i) batch.events.push_back(malloc_event(1, 16, i));
    tape_.note(batch);
  }
  void ends() {
    schema::EventBatch batch;
    batch.thread_ends.push_back({1, 1});
    tape_.note(batch);
  }
  void times() {
    schema::EventBatch batch;
    batch.times.push_back({1, 1});
    tape_.note(batch);
  }
  void process_samples() {
    schema::EventBatch batch;
    batch.samples.emplace_back();
    tape_.note(batch);
  }
  // The program's calls, from the first.
  void calls(const std::vector<schema::Event>& events) {
    SlotResolver resolver;
    ResolvedBatch batch;
    EXPECT_TRUE(resolver.resolve(events, 0, batch).ok());
    tape_.note(resolver);
  }
  Notes notes(const std::string& spec) const {
    return run_notes(*allocators::parse_spec(spec), run_, tape_);
  }
  std::string incomparable(const std::string& spec) const {
    return why_incomparable(*allocators::parse_spec(spec), run_, tape_);
  }

  TapeFacts tape_{tests::sample_header()};
  RunFacts run_{.threads = "ordered", .compared_blocks = 1, .same_offset_share = 1};
};

schema::SteeringCall steering(schema::SteeringOp op) {
  return {.op = op};
}

TEST_F(RunNotes, TellWhatBecameOfSteering) {
  using allocators::SteeringOutcome;
  using schema::SteeringOp;
  times();
  run_.steering.note(steering(SteeringOp::kMallopt), SteeringOutcome::kIgnored);
  run_.steering.note(steering(SteeringOp::kMallopt), SteeringOutcome::kIgnored);
  run_.steering.note(steering(SteeringOp::kMallocTrim), SteeringOutcome::kIgnored);
  run_.steering.note(steering(SteeringOp::kMallocTrim), SteeringOutcome::kCounterpart);
  run_.steering.note(steering(SteeringOp::kMallocTrim), SteeringOutcome::kRepeated);
  run_.settings.obeyed = {"A=1", "B=2"};
  run_.settings.left_out = {"C=3"};
  EXPECT_EQ(notes("jemalloc"),
            (Notes{"1 call of malloc_trim steered the recorded allocator: replaced by this one's "
                   "own call to give memory back",
                   "2 calls of mallopt, 1 of malloc_trim steered the recorded allocator: omitted, "
                   "because this one has no such call",
                   "with the settings of the recorded run: A=1, B=2",
                   "without settings of the recorded run, which do not apply here: C=3"}));
}

TEST_F(RunNotes, TellThatSteeringIsOff) {
  schema::EventBatch batch;
  batch.steering.push_back(steering(schema::SteeringOp::kMallopt));
  tape_.note(batch);
  EXPECT_TRUE(notes("glibc").empty());
  run_.steer = allocators::Steer::kOff;
  run_.settings.left_out = {"C=3"};
  EXPECT_EQ(notes("glibc"),
            (Notes{"1 call of mallopt steered the recorded allocator: omitted (--steer off)",
                   "without settings of the recorded run (--steer off): C=3"}));
}

TEST_F(RunNotes, AreNoneWhereNothingIsMissing) {
  threads(3);
  ends();
  times();
  process_samples();
  for (const char* spec : {"recorded", "noop", "glibc", "jemalloc", "model:slabs"}) {
    EXPECT_EQ(notes(spec), Notes()) << spec;
  }
}

TEST_F(RunNotes, TellWhatALateStartMissed) {
  process_samples();
  times();
  tape_.note_beginning(600'000'000'000, "", 0);
  EXPECT_EQ(notes("recorded"), (Notes{"the recording began 600.0 s after the program: memory from "
                                      "before is unseen until a call hands it out"}));
  calls({free_event(0x1000), free_event(0x2000), tests::realloc_event(0x3000, 9, 0x3000)});
  EXPECT_EQ(notes("recorded"), (Notes{"the recording began 600.0 s after the program: memory from "
                                      "before is unseen until a call hands it out; 2 frees of such "
                                      "blocks; 1 resize of such blocks counted as allocations"}));
  EXPECT_EQ(notes("glibc"), (Notes{"the recording began 600.0 s after the program: blocks from "
                                   "before are missing here; 2 frees of such blocks omitted; 1 "
                                   "resize of such blocks counted as allocations"}));
}

TEST_F(RunNotes, TellOfBlocksFromBeforeATapeThatIsNotLate) {
  process_samples();
  calls({free_event(0x1000)});
  EXPECT_EQ(notes("recorded"), (Notes{"1 free is of a block from before the tape: the memory of "
                                      "blocks from before counts as holes"}));
}

// Notes on a tape that says which allocator it was recorded on.
class VersionNotes : public RunNotes {
 protected:
  Notes of(const schema::RecordedAllocator& recorded, const std::string& spec,
           const std::string& library_version = "") {
    schema::TapeHeader header = tests::sample_header();
    header.recorded_allocator = recorded;
    tape_ = TapeFacts(header);
    times();
    run_.library_version = library_version;
    return notes(spec);
  }
  static constexpr const char* kWhat =
      ", which may place blocks differently and use a different amount of memory";
};

TEST_F(VersionNotes, SayThatTheModelIsOfAnotherGlibc) {
  EXPECT_EQ(
      of({"glibc", "2.41", "glibc 2.41"}, "model:ptmalloc"),
      Notes{std::string("models glibc 2.36, and the tape was recorded on glibc 2.41") + kWhat});
  EXPECT_EQ(of({"glibc", "2.36", "glibc 2.36"}, "model:ptmalloc"), Notes());
}

TEST_F(VersionNotes, GoByTheLibcOfTheProgramForPtmalloc) {
  EXPECT_EQ(of({"jemalloc", "5.3.0", "glibc 2.36"}, "model:ptmalloc"), Notes());
  EXPECT_EQ(of({"musl", "", "musl"}, "model:ptmalloc"),
            Notes{std::string("models glibc 2.36, and the tape was recorded on musl") + kWhat});
}

TEST_F(VersionNotes, SayThatTheModelIsOfAnotherJemalloc) {
  EXPECT_EQ(of({"jemalloc", "5.2.1", "glibc 2.41"}, "model:slabs"),
            Notes{std::string("models jemalloc 5.3.0, and the tape was recorded on jemalloc "
                              "5.2.1") +
                  kWhat});
  EXPECT_EQ(of({"jemalloc", "5.3.0-0-g54eaed1d", "glibc 2.41"}, "model:slabs"), Notes());
  EXPECT_EQ(of({"glibc", "2.41", "glibc 2.41"}, "model:slabs"), Notes());
}

TEST_F(VersionNotes, SayThatAnotherVersionOfTheLibraryReplays) {
  const Notes expected = {
      "the tape was recorded on glibc 2.36, and 2.41 replays it: blocks may lie elsewhere"};
  EXPECT_EQ(of({"glibc", "2.36", "glibc 2.36"}, "glibc", "2.41"), expected);
  EXPECT_EQ(of({"glibc", "2.36", "glibc 2.36"}, "glibc", "2.36"), Notes());
  EXPECT_EQ(of({"glibc", "2.36", "glibc 2.36"}, "jemalloc", "5.3.0"), Notes());
}

TEST_F(VersionNotes, AreAbsentIfTheTapeDoesNotSay) {
  for (const char* spec : {"glibc", "model:ptmalloc", "model:slabs"}) {
    EXPECT_EQ(of({}, spec, "2.41"), Notes()) << spec;
  }
}

TEST_F(VersionNotes, AreAbsentIfTheLibraryDoesNotSay) {
  EXPECT_EQ(of({"glibc", "2.36", "glibc 2.36"}, "glibc", ""), Notes());
}

TEST_F(RunNotes, SayWhatIsNotInTheTraceThatTheTapeWasImportedFrom) {
  schema::TapeHeader header;
  header.origin = {"malloclab", static_cast<uint32_t>(schema::Absent::kThreads) |
                                    static_cast<uint32_t>(schema::Absent::kTimes) |
                                    static_cast<uint32_t>(schema::Absent::kAddresses)};
  tape_ = TapeFacts(header);
  const std::string threads = "threads are not in this trace: all calls count as one thread's";
  EXPECT_EQ(notes("glibc"), Notes{threads});
  EXPECT_EQ(notes("jemalloc"), (Notes{"nothing decays: times are not in this trace", threads}));
  EXPECT_EQ(notes("recorded"), Notes{"resident sizes are not in this trace"});
  EXPECT_EQ(incomparable("glibc"), "addresses are not in this trace");
}

TEST_F(RunNotes, SayThatTheProcessWasNeverSampled) {
  EXPECT_EQ(notes("recorded"),
            Notes{"the process was never sampled: resident sizes are not on this tape"});
  EXPECT_EQ(known_resident(*allocators::parse_spec("recorded"), tape_), KnownResident::kNothing);
  EXPECT_EQ(known_resident(*allocators::parse_spec("glibc"), tape_), KnownResident::kPages);
  process_samples();
  EXPECT_EQ(known_resident(*allocators::parse_spec("recorded"), tape_), KnownResident::kHoles);
  EXPECT_EQ(notes("recorded"), Notes());
}

TEST_F(RunNotes, SayThatAnAllocatorMayHaveGivenPagesBack) {
  schema::TapeHeader header;
  header.recorded_allocator.family = "jemalloc";
  tape_ = TapeFacts(header);
  process_samples();
  EXPECT_EQ(known_resident(*allocators::parse_spec("recorded"), tape_), KnownResident::kSum);
  EXPECT_EQ(known_resident(*allocators::parse_spec("jemalloc"), tape_), KnownResident::kPages);
  EXPECT_EQ(notes("recorded"), Notes{"which pages are resident is not on the tape: the allocator "
                                     "may have given free ones back"});
}

TEST_F(RunNotes, SayWhatMergedThreadsLeaveOut) {
  threads(3);
  run_.threads = "merged";
  EXPECT_EQ(notes("glibc"), Notes{"3 threads merged: per-thread caches and arenas are not "
                                  "simulated; memory is understated"});
  EXPECT_EQ(notes("model:bump"), Notes{"treats the calls of 3 threads as one thread's"});
}

TEST_F(RunNotes, SayNothingOfOneThreadMerged) {
  threads(1);
  run_.threads = "merged";
  EXPECT_EQ(notes("glibc"), Notes());
}

TEST_F(RunNotes, SayThatThreadsNeverEnd) {
  threads(2);
  EXPECT_EQ(notes("glibc"),
            Notes{"no thread ends in these calls: caches and arenas of threads stay"});
}

TEST_F(RunNotes, SayThatNothingDecaysWhereItWould) {
  const Notes expected = {"nothing decays: the tape has no times"};
  for (const char* spec : {"jemalloc", "mimalloc", "tcmalloc", "model:slabs"}) {
    EXPECT_EQ(notes(spec), expected) << spec;
  }
  for (const char* spec : {"glibc", "model:ptmalloc"}) EXPECT_EQ(notes(spec), Notes()) << spec;
}

TEST_F(RunNotes, SayThatTheClockWasNotTheTapes) {
  times();
  run_.clock = allocators::Clock::kReal;
  EXPECT_EQ(
      notes("jemalloc"),
      Notes{"the clock was the replay's: memory is returned at other times than in the program"});
  EXPECT_EQ(notes("glibc"), Notes());
}

TEST_F(RunNotes, SayThatUntouchedBlocksHaveNoResidentSize) {
  run_.touch = allocators::Touch::kNone;
  EXPECT_EQ(notes("glibc"), Notes{"no block was touched: resident figures mean nothing"});
  EXPECT_EQ(notes("model:bump"), Notes());
}

TEST_F(RunNotes, SayThatLargeBlocksMayNotHaveBeenWritten) {
  calls({malloc_event(9 << 17, 1 << 20), malloc_event(1 << 17, 1 << 24), free_event(1 << 24)});
  const std::string why =
      " are in blocks of 128 KiB or more: their pages that the program never wrote are resident "
      "only here";
  run_.resident_bytes_peak = 99 << 17;
  run_.resident_bytes_at_end = 60 << 17;
  for (const char* spec : {"glibc", "jemalloc MALLOC_CONF=tcache:false", "model:bump"}) {
    EXPECT_EQ(notes(spec).back(), "1.25 MiB at the peak and 1.12 MiB at the end" + why) << spec;
  }
  run_.resident_bytes_peak = 101 << 17;
  EXPECT_EQ(notes("glibc"), Notes{"1.12 MiB at the end" + why});
  run_.touch = allocators::Touch::kNone;
  EXPECT_EQ(notes("glibc"), Notes{"no block was touched: resident figures mean nothing"});
}

TEST_F(RunNotes, SayNothingOfAFewLargeBlocks) {
  calls({malloc_event(1 << 17, 1 << 20), malloc_event(1 << 16, 1 << 24)});
  run_.resident_bytes_peak = run_.resident_bytes_at_end = 11 << 17;
  EXPECT_EQ(notes("glibc"), Notes());
}

TEST_F(RunNotes, SayWhyBlocksOfThreadsLieElsewhere) {
  threads(2);
  ends();
  run_.same_offset_share = 0.98;
  EXPECT_EQ(notes("glibc"),
            Notes{"blocks lie elsewhere where threads ran at the same time: a tape records the "
                  "order of their calls, not of the allocator's locks"});
  EXPECT_EQ(notes("mimalloc"), Notes{"nothing decays: the tape has no times"});
  run_.same_offset_share = 0.99;
  EXPECT_EQ(notes("glibc"), Notes());
}

TEST_F(RunNotes, SayThatThreadsPassBlocksOn) {
  calls({malloc_event(8, 0x1000, 1), malloc_event(8, 0x2000, 1), free_event(0x1000, 2)});
  EXPECT_EQ(notes("glibc"),
            Notes{"100 % of freed blocks came from another thread: the timing of threads may "
                  "differ between runs of the program, and so may its memory"});
  calls({malloc_event(8, 0x1000, 1), free_event(0x1000, 1)});
  EXPECT_EQ(notes("glibc"), Notes());
}

TEST_F(RunNotes, SayHowMuchJemallocPurged) {
  times();
  run_.resident_bytes_peak = 20'000;
  run_.purged_bytes = purged_bytes({{"mallocs", 7}, {"jemallocPurgedPages", 1}});
  EXPECT_EQ(run_.purged_bytes, 4096u);
  const Notes expected = {
      "4.00 KiB were purged as time passed, partly by chance: a faster or slower run purges other "
      "amounts"};
  for (const char* spec : {"jemalloc", "model:slabs"}) EXPECT_EQ(notes(spec), expected) << spec;
  for (const char* spec : {"glibc", "mimalloc", "model:runs"}) {
    EXPECT_EQ(notes(spec), Notes()) << spec;
  }
}

TEST_F(RunNotes, SayNothingOfALittlePurge) {
  times();
  run_.resident_bytes_peak = 40'970;
  run_.purged_bytes = purged_bytes({{"pagesPurged", 1}});
  EXPECT_EQ(notes("model:slabs"), Notes());
}

// Very large blocks are purged as they are freed.
TEST_F(RunNotes, SayNothingOfChanceWhereNoTimePasses) {
  run_.purged_bytes = 1 << 20;
  for (const char* spec : {"jemalloc", "model:slabs"}) {
    EXPECT_EQ(notes(spec), Notes{"nothing decays: the tape has no times"}) << spec;
  }
  run_.clock = allocators::Clock::kReal;
  EXPECT_EQ(notes("jemalloc").size(), 2u) << "the replay's clock, and chance";
}

TEST_F(RunNotes, SayNothingOfPurgesThatNoTimeDecides) {
  times();
  run_.purged_bytes = 1 << 20;
  for (const char* spec :
       {"jemalloc MALLOC_CONF=dirty_decay_ms:0,tcache:false", "model:slabs:dirty_decay_ms=0"}) {
    EXPECT_EQ(notes(spec), Notes()) << spec;
  }
  for (const char* spec :
       {"jemalloc MALLOC_CONF=dirty_decay_ms:01000", "jemalloc MALLOC_CONF=dirty_decay_ms"}) {
    EXPECT_EQ(notes(spec).size(), 1u) << spec;
  }
}

TEST_F(RunNotes, NameSettingsThatOneThreadMakesIdle) {
  const std::string idle =
      " has no effect here: one thread makes all calls, so one arena serves them";
  times();
  EXPECT_EQ(notes("glibc MALLOC_ARENA_MAX=2"), Notes{"MALLOC_ARENA_MAX" + idle});
  EXPECT_EQ(notes("glibc GLIBC_TUNABLES=glibc.malloc.tcache_count=1:glibc.malloc.arena_max=2"),
            Notes{"glibc.malloc.arena_max" + idle});
  EXPECT_EQ(notes("jemalloc MALLOC_CONF=narenas:1"), Notes{"narenas" + idle});
  EXPECT_EQ(notes("glibc MALLOC_TRIM_THRESHOLD_=1"), Notes());
}

TEST_F(RunNotes, NameSettingsThatMergedThreadsMakeIdle) {
  threads(2);
  run_.threads = "merged";
  const Notes found = notes("glibc MALLOC_ARENA_MAX=2");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[1].starts_with("MALLOC_ARENA_MAX has no effect here")) << found[1];
}

TEST_F(RunNotes, SayNothingOfASettingThatSeveralThreadsFeel) {
  threads(2);
  ends();
  EXPECT_EQ(notes("glibc MALLOC_ARENA_MAX=2"), Notes());
}

TEST_F(RunNotes, WarnOfThreadsAndArenasThatFollowTheSystem) {
  times();
  const Notes found =
      notes("jemalloc MALLOC_CONF=background_thread:true,percpu_arena:percpu,tcache:false");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].starts_with("background threads purge")) << found[0];
  EXPECT_TRUE(found[1].starts_with("each call uses the arena of the processor")) << found[1];
}

TEST_F(RunNotes, CompareAddressesWithinAFamily) {
  for (const char* spec : {"glibc", "glibc MALLOC_ARENA_MAX=2", "model:ptmalloc", "recorded"}) {
    EXPECT_EQ(incomparable(spec), "") << spec;
  }
  EXPECT_EQ(incomparable("model:slabs"),
            "recorded on glibc: addresses not comparable with jemalloc's");
  EXPECT_EQ(incomparable("model:bump:grow_bytes=1MiB"),
            "recorded on glibc: addresses not comparable with model:bump's");
}

TEST_F(RunNotes, CompareNoAddressesWhereNoneCanBe) {
  run_.compared_blocks = 0;
  for (const char* spec : {"glibc", "noop"}) {
    EXPECT_EQ(incomparable(spec), "no block lies where addresses can be compared") << spec;
  }
}

TEST_F(RunNotes, CompareNoAddressesOfMergedThreads) {
  threads(2);
  run_.threads = "merged";
  EXPECT_EQ(incomparable("glibc"), "2 threads merged: addresses not comparable");
}

TEST_F(RunNotes, SayWhatThreadsAtTheSameTimeLeaveOpen) {
  threads(2);
  ends();
  times();
  run_.threads = "free";
  EXPECT_EQ(notes("glibc"), Notes{"threads ran at the same time: holes and slack are unknown"});
  EXPECT_EQ(incomparable("glibc"),
            "threads ran at the same time: addresses differ from run to run");
}

TEST(AllocatorOfATape, IsWhatTheTapeSays) {
  schema::TapeHeader header;
  header.allocator = "/opt/je.so";
  header.recorded_allocator.family = "jemalloc";
  EXPECT_EQ(TapeFacts(header).family(), "jemalloc");
}

TEST(AllocatorOfATape, IsKnownByItsLibrary) {
  schema::TapeHeader header;
  const auto family = [&](const char* path) {
    header.allocator = path;
    return TapeFacts(header).family();
  };
  EXPECT_EQ(family("/lib/x86_64-linux-gnu/libc.so.6"), "glibc");
  EXPECT_EQ(family("/usr/lib/libjemalloc.so.2"), "jemalloc");
  EXPECT_EQ(family("/usr/lib/libtcmalloc_minimal.so.4.5.9"), "tcmalloc");
  EXPECT_EQ(family("/opt/libmine.so"), "libmine.so");
  EXPECT_EQ(family(""), "");
}

}  // namespace
}  // namespace heaptape::replayer
