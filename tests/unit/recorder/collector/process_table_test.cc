// Processes of a recording, as the collector finds them in a session that nobody else uses.
#include "recorder/collector/process_table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "tests/support/command.h"
#include "tests/support/fake_session.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using schema::EndReason;
using tests::free_record;
using tests::kDeadOwner;
using tests::malloc_record;
using tests::RingPen;

using tests::kNoPid;
constexpr uint64_t kFarFuture = uint64_t{1} << 62;

uint32_t pid_here() {
  return static_cast<uint32_t>(getpid());
}

class ProcessTableTest : public testing::Test {
 protected:
  RecordedProcess& process(uint32_t slot) { return *table_.processes().at(slot); }
  // Reads the rings of a process; returns how many calls they held.
  uint64_t drain(uint32_t slot) {
    return process(slot).merge().drain(RingMerge::kEverything, base::monotonic_ns());
  }
  // As an exec, or the end of its process, leaves the slot.
  void die(uint32_t slot) { session_.view().process(slot).lock.word = kDeadOwner; }
  void end(uint32_t slot) { table_.end(slot, EndReason::kExited, 0); }
  schema::TapeReader read(const std::string& name) {
    table_.wait_for_tapes();
    auto reader = schema::TapeReader::open(dir_.file(name));
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }

  uint64_t events_in_partial_file() {
    table_.wait_for_tapes();
    auto reader = schema::TapeReader::open(dir_.file("run.tape.partial"));
    return reader.ok() ? reader->events() : 0;
  }

  tests::FakeSession session_;
  tests::TempDir dir_;
  std::unique_ptr<HandshakeServer> handshakes_ = std::move(*HandshakeServer::open());
  Backlog backlog_;
  Pools& pools_ = session_.pools();
  ProcessTable table_{backlog_, pools_, *handshakes_, dir_.file("run.tape")};
};

TEST_F(ProcessTableTest, AdoptsProcessesAndTheirRings) {
  session_.join(3, pid_here());
  RingPen(session_, 0, 3).write(malloc_record(0x1000));
  RingPen(session_, 7, 3).write(malloc_record(0x2000));
  table_.adopt_claims();
  ASSERT_EQ(table_.processes().size(), 1u);
  EXPECT_EQ(drain(3), 2u);
  EXPECT_TRUE(process(3).is(pid_here()));
}

TEST_F(ProcessTableTest, AdoptsNobodyTwice) {
  session_.join(0, pid_here());
  RingPen(session_, 0).write(malloc_record(0x1000));
  table_.adopt_claims();
  announce_claim(session_.view());
  table_.adopt_claims();
  EXPECT_EQ(table_.processes().size(), 1u);
  EXPECT_EQ(drain(0), 1u);
}

TEST_F(ProcessTableTest, LeavesAloneWhatIsNotReadyYet) {
  session_.join(0, pid_here()).state = SlotState::kFree;
  const RingPen pen(session_, 0);
  pen.header().state = RingState::kFree;
  table_.adopt_claims();
  EXPECT_TRUE(table_.processes().empty());
}

TEST_F(ProcessTableTest, LeavesAloneTheRingsOfNobody) {
  session_.join(0, pid_here());
  RingPen(session_, 0, 5).write(malloc_record(0x1000));
  RingPen(session_, 1, UINT32_MAX).write(malloc_record(0x2000));
  table_.adopt_claims();
  EXPECT_EQ(drain(0), 0u);
}

TEST_F(ProcessTableTest, DescribesAProcessInItsTape) {
  session_.join(0, pid_here());
  table_.adopt_claims();
  end(0);
  const schema::TapeHeader header = read("run.tape").header();
  EXPECT_EQ(header.pid, pid_here());
  EXPECT_EQ(header.parent_pid, static_cast<uint32_t>(getppid()));
  EXPECT_NE(header.executable.find("recorder_tests"), std::string::npos);
  EXPECT_EQ(header.allocator, "/lib/libfake.so");
  EXPECT_EQ(header.initial_break, 0x555555559000u);
  EXPECT_EQ(header.clock, schema::StampClock::kCounter);
}

TEST_F(ProcessTableTest, PutsWhatServesMallocIntoTheTape) {
  session_.join(0, pid_here()).allocator = {"/lib/libmimalloc.so.2", "mimalloc", "2.0.9",
                                            "glibc 2.36"};
  table_.adopt_claims();
  end(0);
  const schema::TapeHeader header = read("run.tape").header();
  EXPECT_EQ(header.allocator, "/lib/libmimalloc.so.2");
  EXPECT_EQ(header.recorded_allocator,
            (schema::RecordedAllocator{"mimalloc", "2.0.9", "glibc 2.36"}));
}

TEST_F(ProcessTableTest, TakesAnAllocatorsPathThatDoesNotEnd) {
  std::memset(session_.join(0, pid_here()).allocator.path, 'a', kAllocatorPathBytes);
  table_.adopt_claims();
  end(0);
  EXPECT_EQ(read("run.tape").header().allocator, std::string(kAllocatorPathBytes - 1, 'a'));
}

TEST_F(ProcessTableTest, WritesWhatIsLeftWhenAProcessEnds) {
  session_.join(0, kNoPid);
  table_.adopt_claims();
  RingPen last(session_, 4);  // claimed in its last moments
  last.write(malloc_record(0x1000)).write(free_record(0x1000));
  table_.end(0, EndReason::kSignalled, 9);
  const auto reader = read("run.tape");
  EXPECT_EQ(reader.events(), 2u);
  EXPECT_EQ(reader.summary()->end_reason, EndReason::kSignalled);
  EXPECT_EQ(reader.summary()->end_status, 9);
}

TEST_F(ProcessTableTest, PutsWhatASlowProcessDidIntoTheFileInTime) {
  session_.join(0, pid_here());
  RingPen pen(session_, 0);
  pen.write(malloc_record(0x1000)).write(free_record(0x1000));
  table_.adopt_claims();
  drain(0);
  process(0).save_if_due(base::monotonic_ns());  // not yet
  EXPECT_EQ(events_in_partial_file(), 0u);
  process(0).save_if_due(base::monotonic_ns() + 60 * base::kMillisecondNs);
  EXPECT_EQ(events_in_partial_file(), 2u);
}

TEST_F(ProcessTableTest, GivesSlotAndRingsBackWhenAProcessEnds) {
  session_.join(0, kNoPid);
  {
    const RingPen pen(session_, 4);
  }
  table_.adopt_claims();
  end(0);
  EXPECT_EQ(owner_state(session_.view().process(0).lock), OwnerState::kNone);
  EXPECT_EQ(owner_state(session_.view().ring(4).lock), OwnerState::kNone);
  session_.join(0, pid_here());
  RingPen(session_, 4).write(malloc_record(0x1000));
  table_.adopt_claims();
  EXPECT_EQ(drain(0), 1u);
}

TEST_F(ProcessTableTest, ListsWhatBecameOfThem) {
  session_.join(0, pid_here());
  RingPen(session_, 0).write(malloc_record(0x1000));
  table_.adopt_claims();
  end(0);
  table_.wait_for_tapes();
  ASSERT_EQ(table_.manifest().size(), 1u);
  const schema::ManifestProcess& entry = table_.manifest()[0];
  EXPECT_EQ(entry.tape, "run.tape");
  EXPECT_EQ(entry.pid, pid_here());
  EXPECT_EQ(entry.events, 1u);
  EXPECT_EQ(entry.bytes, std::filesystem::file_size(dir_.file("run.tape")));
  EXPECT_EQ(entry.ended, schema::describe(EndReason::kExited));
  EXPECT_TRUE(table_.failures().empty());
}

TEST_F(ProcessTableTest, EndsAProcessThatExecutedAnotherProgram) {
  session_.join(0, pid_here());
  table_.adopt_claims();
  die(0);
  session_.join(1, pid_here());
  table_.adopt_claims();
  ASSERT_EQ(table_.processes().size(), 1u);
  EXPECT_TRUE(table_.processes().contains(1));
  EXPECT_EQ(read("run.tape").summary()->end_reason, EndReason::kReplaced);
}

TEST_F(ProcessTableTest, AdoptsInTheOrderInWhichTheyCame) {
  session_.join(0, pid_here()).serial = 2;
  session_.join(1, pid_here()).serial = 1;
  die(1);
  table_.adopt_claims();
  ASSERT_EQ(table_.processes().size(), 1u);
  EXPECT_TRUE(table_.processes().contains(0));
}

TEST_F(ProcessTableTest, TakesAForkedProcessForWhatItsParentWas) {
  session_.join(0, pid_here());
  ProcessSlot& child = session_.join(1, kNoPid, kSlotForked);
  child.parent_serial = 1;
  table_.adopt_claims();
  const ProcessIdentity& parent = process(0).traits().identity;
  const ProcessIdentity& forked = process(1).traits().identity;
  EXPECT_EQ(forked.pid, kNoPid);
  EXPECT_EQ(forked.parent_pid, pid_here());
  EXPECT_EQ(forked.executable, parent.executable);
  EXPECT_EQ(forked.command_line, parent.command_line);
}

TEST_F(ProcessTableTest, DoesNotTakeAForkedProcessForAnotherImageOfItsPid) {
  session_.join(0, pid_here());
  session_.join(1, pid_here(), kSlotForked);  // of another pid namespace, say
  table_.adopt_claims();
  EXPECT_EQ(table_.processes().size(), 2u);
}

TEST_F(ProcessTableTest, FinishesTheTapeOfAProcessThatGoesOn) {
  session_.join(0, pid_here());
  RingPen pen(session_, 0);
  table_.adopt_claims();
  const RingPen second(session_, 1);
  table_.adopt_claims();
  pen.write(malloc_record(0x3000, 5));
  EXPECT_EQ(process(0).merge().drain(8, base::monotonic_ns()), 1u);
  pen.write(malloc_record(0x1000, 10)).write(malloc_record(0x2000, 20));
  table_.leave(0, 15);
  EXPECT_TRUE(table_.processes().empty());
  schema::TapeReader tape = read("run.tape");
  EXPECT_EQ(tape.summary()->end_reason, EndReason::kRecordingStopped);
  schema::EventBatch batch;
  ASSERT_TRUE(tape.read(batch, 10).ok());
  EXPECT_EQ(batch.events.size(), 2u);
  ASSERT_FALSE(batch.times.empty());
  EXPECT_EQ(batch.times.back().event, 2u) << "the time of the last call";
  EXPECT_EQ(session_.view().ring(0).state, RingState::kOwned);
}

TEST_F(ProcessTableTest, FreesTheRingsOfDeadThreads) {
  session_.join(0, pid_here());
  const RingPen living(session_, 0);
  const RingPen dead(session_, 1, 0, kDeadOwner);
  table_.adopt_claims();
  EXPECT_EQ(process(0).merge().drain(1, base::monotonic_ns()), 0u);
  table_.free_what_the_dead_left();
  EXPECT_EQ(living.header().state, RingState::kOwned);
  EXPECT_EQ(dead.header().state, RingState::kFree);
  RingPen(session_, 1).write(malloc_record(0x1000));
  table_.adopt_claims();
  EXPECT_EQ(drain(0), 1u);
}

// Of a vfork child, which borrows its parent's thread.
TEST_F(ProcessTableTest, KeepsTheRingsOfThreadsThatNobodyWatches) {
  session_.join(0, pid_here());
  const RingPen borrowed(session_, 1, 0, kUnwatchedOwner);
  table_.adopt_claims();
  table_.free_what_the_dead_left();
  EXPECT_EQ(borrowed.header().state, RingState::kOwned);
}

TEST_F(ProcessTableTest, FreesWhatWasClaimedByAThreadThatDiedInBetween) {
  session_.join(0, pid_here()).state = SlotState::kFree;
  session_.view().process(0).lock.word = kDeadOwner;
  const RingPen dead(session_, 3, 0, kDeadOwner);
  dead.header().state = RingState::kFree;
  table_.adopt_claims();
  table_.free_what_the_dead_left();
  EXPECT_EQ(owner_state(session_.view().process(0).lock), OwnerState::kNone);
  EXPECT_EQ(owner_state(dead.header().lock), OwnerState::kNone);
  EXPECT_EQ(session_.header().slots_taken.lowest_free, 0u);
}

TEST_F(ProcessTableTest, LeavesAloneWhatALivingThreadIsAboutToTake) {
  session_.join(0, pid_here()).state = SlotState::kFree;
  const RingPen living(session_, 3);
  living.header().state = RingState::kFree;
  table_.free_what_the_dead_left();
  EXPECT_EQ(owner_state(session_.view().process(0).lock), OwnerState::kLives);
  EXPECT_EQ(owner_state(living.header().lock), OwnerState::kLives);
}

TEST_F(ProcessTableTest, FreesTheRingsOfDeadThreadsWhoseProcessHasNoSlotAnyMore) {
  const RingPen dead(session_, 3, 7, kDeadOwner);
  table_.free_what_the_dead_left();
  EXPECT_EQ(owner_state(dead.header().lock), OwnerState::kNone);
}

// It came and went since the last look.
TEST_F(ProcessTableTest, KeepsWhatADeadProcessLoggedUntilItIsAdopted) {
  session_.join(0, kNoPid).lock.word = kDeadOwner;
  RingPen(session_, 0, 0, kDeadOwner).write(malloc_record(0x1000));
  table_.free_what_the_dead_left();
  table_.adopt_claims();
  EXPECT_EQ(drain(0), 1u);
}

TEST_F(ProcessTableTest, GivesNoProcessTheRingsOfAnEarlierOneInItsSlot) {
  session_.join(0, pid_here());
  RingPen pen(session_, 0);
  pen.header().process_serial = 77;
  pen.write(malloc_record(0x1000));
  table_.adopt_claims();
  EXPECT_EQ(drain(0), 0u);
}

TEST_F(ProcessTableTest, GoesOnDrainingWhenATapeCannotBeWritten) {
  ProcessTable table(backlog_, session_.pools(), *handshakes_,
                     dir_.file("no/such/folder/run.tape"));
  session_.join(0, pid_here());
  RingPen pen(session_, 0);
  pen.write(malloc_record(0x1000));
  table.adopt_claims();
  table.processes().at(0)->merge().drain(0, base::monotonic_ns());
  EXPECT_EQ(pen.header().tail, pen.head());
  table.end(0, EndReason::kExited, 0);
  table.wait_for_tapes();
  ASSERT_EQ(table.failures().size(), 1u);
  EXPECT_NE(table.failures()[0].find("no/such/folder"), std::string::npos);
  EXPECT_EQ(table.failures()[0].find("the same"), std::string::npos) << table.failures()[0];
  EXPECT_EQ(table.manifest()[0].lost_events, 1u);
}

TEST_F(ProcessTableTest, NamesOneOfTheTapesThatCannotBeWrittenAndCountsTheOthers) {
  ProcessTable table(backlog_, session_.pools(), *handshakes_,
                     dir_.file("no/such/folder/run.tape"));
  for (uint32_t slot = 0; slot < 3; ++slot) {
    session_.join(slot, pid_here() + slot);
    RingPen(session_, slot, slot).write(malloc_record(0x1000));
  }
  table.adopt_claims();
  for (uint32_t slot = 0; slot < 3; ++slot) table.end(slot, EndReason::kExited, 0);
  table.wait_for_tapes();
  ASSERT_EQ(table.failures().size(), 1u);
  EXPECT_TRUE(table.failures()[0].ends_with("; the same with 2 other tapes"))
      << table.failures()[0];
}

TEST_F(ProcessTableTest, SamplesAProcessOnceInAWhile) {
  session_.join(0, pid_here());
  table_.adopt_claims();
  std::atomic<int> readings = 0;
  const auto count = [&readings](uint32_t pid, WithPages with_pages) {
    ++readings;
    auto texts = read_proc_texts(pid, nullptr, with_pages);
    if (texts) texts->has_session = true;  // its memory is no file here
    return texts;
  };
  auto proc = std::make_unique<ProcReader>(count);
  const uint64_t now_ns = base::monotonic_ns();
  process(0).sample_if_due(now_ns, 1, *proc);  // not at once: it has only begun
  process(0).sample_if_due(kFarFuture, 1, *proc);
  EXPECT_TRUE(tests::wait_until([&readings] { return readings == 1; }));
  proc = std::make_unique<ProcReader>(count);  // the one before has answered
  process(0).sample_if_due(now_ns, 1, *proc);  // taken
  process(0).sample_if_due(now_ns, 1, *proc);  // not due again
  const auto last = proc->ask({pid_here(), WithPages::kNo});
  EXPECT_TRUE(tests::wait_until([&last] { return last->done.load(); }));
  EXPECT_EQ(readings, 2) << "those of the process, and the last";
  end(0);
  auto reader = read("run.tape");
  schema::EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 10).ok());
  ASSERT_EQ(batch.samples.size(), 1u);
  EXPECT_GT(batch.samples[0].resident_bytes, 0u);
  EXPECT_LE(batch.samples[0].time_ns, reader.summary()->duration_ns);
}

// Calls that were copied before the answer came are before the sample.
TEST_F(ProcessTableTest, TakesASampleBehindTheCallsOfItsRound) {
  session_.join(0, pid_here());
  RingPen(session_, 0).write(malloc_record(0x1000));
  table_.adopt_claims();
  std::atomic<int> readings = 0;
  auto proc = std::make_unique<ProcReader>([&readings](uint32_t, WithPages) {
    ++readings;
    return std::optional<ProcTexts>{ProcTexts{}};
  });
  const uint64_t now_ns = base::monotonic_ns();
  process(0).sample_if_due(now_ns, 1, *proc);
  process(0).sample_if_due(kFarFuture, 1, *proc);
  EXPECT_TRUE(tests::wait_until([&readings] { return readings == 1; }));
  proc = std::make_unique<ProcReader>(
      [](uint32_t, WithPages) -> std::optional<ProcTexts> { return std::nullopt; });
  process(0).begin_round(RingMerge::kEverything, now_ns);
  process(0).sample_if_due(now_ns, 1, *proc);
  process(0).work(UINT64_MAX);
  process(0).sample_if_due(now_ns, 1, *proc);
  end(0);
  auto reader = read("run.tape");
  schema::EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 10).ok());
  ASSERT_EQ(batch.samples.size(), 1u);
  EXPECT_EQ(batch.samples[0].event, 1u);
}

// There is nobody who could log what the last call waits for.
TEST_F(ProcessTableTest, WaitsForNoOtherCallWhenItLeavesAProcess) {
  session_.join(0, pid_here());
  RingPen a(session_, 0);
  RingPen b(session_, 1);
  a.write(malloc_record(0x1000, 10));
  a.header().resizing = 0x1000;
  b.write(malloc_record(0x1000, 30));
  table_.adopt_claims();
  process(0).begin_round(40, base::monotonic_ns());
  process(0).work(UINT64_MAX);
  ASSERT_EQ(process(0).tape().encoder().events(), 1u);
  table_.leave(0, 50);
  EXPECT_EQ(read("run.tape").events(), 2u);
}

// end() would write what may be a long backlog in one go, and nothing for others meanwhile.
TEST_F(ProcessTableTest, FindsNobodyGoneWhoseRoundsAreNotDone) {
  session_.join(0, kNoPid, kSlotForked | kSlotForeignPids).lock.word = kDeadOwner;
  table_.adopt_claims();
  process(0).begin_round(RingMerge::kEverything, base::monotonic_ns());
  EXPECT_TRUE(table_.find_gone().empty());
  process(0).work(UINT64_MAX);
  EXPECT_EQ(table_.find_gone(), std::vector<SlotId>{0});
}

// They may all have ended since the last round, and a child is what its parent was.
TEST_F(ProcessTableTest, FindsTheChildrenOfWhoIsGoneBeforeThatIsForgotten) {
  session_.join(0, kNoPid, kSlotForked | kSlotForeignPids);
  table_.adopt_claims();
  const uint32_t parents_pid = process(0).traits().identity.pid;
  session_.join(1, kNoPid + 1, kSlotForked | kSlotForeignPids).parent_serial = 1;
  session_.view().process(0).lock.word = kDeadOwner;
  session_.view().process(1).lock.word = kDeadOwner;
  EXPECT_EQ(table_.find_gone(), std::vector<SlotId>{0});
  ASSERT_TRUE(table_.processes().contains(1));
  EXPECT_EQ(process(1).traits().identity.parent_pid, parents_pid);
}

// The kernel marks the lock before it tells of the end.
TEST_F(ProcessTableTest, NoticesThatAProcessIsGone) {
  const int child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (;;) pause();
  }
  session_.join(0, static_cast<uint32_t>(child)).lock.word = kDeadOwner;  // its first thread's
  session_.join(1, kNoPid);
  table_.adopt_claims();
  EXPECT_FALSE(process(0).is_gone());
  EXPECT_TRUE(process(1).is_gone());
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_TRUE(process(0).is_gone());
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(process(0).is_gone());
}

TEST_F(ProcessTableTest, TakesAProcessOfAnotherPidNamespaceForGoneWhenAllOwnersAreDead) {
  ProcessSlot& slot = session_.join(0, kNoPid, kSlotForked | kSlotForeignPids);
  const RingPen ring(session_, 0);
  table_.adopt_claims();
  EXPECT_FALSE(process(0).is(kNoPid));
  EXPECT_TRUE(table_.find_gone().empty());
  slot.lock.word = kDeadOwner;
  EXPECT_TRUE(table_.find_gone().empty());
  ring.header().lock.word = kDeadOwner;
  EXPECT_EQ(table_.find_gone(), std::vector<SlotId>{0});
  EXPECT_EQ(slot.state, SlotState::kEnding);
}

// Its first thread ended; another one, unknown so far, took a ring in the meantime.
TEST_F(ProcessTableTest, TakesAProcessBackThatShowsALivingThread) {
  ProcessSlot& slot = session_.join(0, kNoPid, kSlotForked | kSlotForeignPids);
  table_.adopt_claims();
  slot.lock.word = kDeadOwner;
  const RingPen late(session_, 0);
  EXPECT_TRUE(table_.find_gone().empty());
  EXPECT_EQ(slot.state, SlotState::kRunning);
}

// It finds its slot marked, joins anew and writes into its ring from then on.
TEST_F(ProcessTableTest, LeavesItsRingToAThreadThatCameToAProcessTakenForDead) {
  session_.join(0, kNoPid, kSlotForked | kSlotForeignPids).lock.word = kDeadOwner;
  table_.adopt_claims();
  ASSERT_EQ(table_.find_gone(), std::vector<SlotId>{0});
  RingPen late(session_, 0);
  end(0);
  EXPECT_EQ(owner_state(late.header().lock), OwnerState::kLives);
  session_.join(1, kNoPid, kSlotForked | kSlotForeignPids);
  late.header().process_slot = 1;
  late.header().process_serial = 2;
  late.write(malloc_record(0x1000));
  table_.adopt_claims();
  EXPECT_EQ(drain(1), 1u);
}

// Any process of the session can say that there are more.
TEST_F(ProcessTableTest, AdoptsNoRingBeyondThoseOfItsPool) {
  constexpr uint32_t kFew = 8;
  SessionView view = session_.view();
  PoolView pool = view.pool();
  pool.rings = kFew;
  view.set_pool(pool);
  Pools pools(view);
  ProcessTable table(backlog_, pools, *handshakes_, dir_.file("few.tape"));
  session_.join(0, pid_here());
  RingPen(session_, kFew - 1).write(malloc_record(0x1000));
  RingPen(session_, kFew).write(malloc_record(0x2000));
  table.adopt_claims();
  EXPECT_EQ(table.processes().at(0)->merge().drain(RingMerge::kEverything, kFarFuture), 1u);
}

// The pid of a process that has ended, which the table is yet to notice.
TEST_F(ProcessTableTest, EndsTheLaterOfTwoProcessesOfAPidWhenItExecutesAnotherProgram) {
  session_.join(0, pid_here());
  die(0);
  session_.join(1, pid_here(), kSlotForked);
  table_.adopt_claims();
  die(1);
  session_.join(2, pid_here());
  table_.adopt_claims();
  EXPECT_TRUE(table_.processes().contains(0));
  EXPECT_FALSE(table_.processes().contains(1));
}

// As it was adopted late: the program that it executed is there already.
TEST_F(ProcessTableTest, EndsNobodyForAnEarlierProcessOfThePid) {
  session_.join(1, pid_here());
  table_.adopt_claims();
  session_.join(0, pid_here());
  die(0);
  table_.adopt_claims();
  EXPECT_EQ(table_.processes().size(), 2u);
  EXPECT_EQ(table_.find_pid(pid_here()), &process(1));
}

TEST_F(ProcessTableTest, NamesAProcessAsItNamesItselfWhereNothingElseDoes) {
  std::strcpy(session_.join(0, kNoPid).program, "leaf");
  table_.adopt_claims();
  EXPECT_EQ(process(0).traits().identity.executable, "leaf");
}

TEST_F(ProcessTableTest, OffersASlotAgainBeforeHigherOnes) {
  session_.join(2, kNoPid);
  session_.header().slots_taken.lowest_free = 3;
  table_.adopt_claims();
  end(2);
  EXPECT_EQ(session_.header().slots_taken.lowest_free, 2u);
}

TEST_F(ProcessTableTest, AdoptsAForkedProcessWhoseParentHasEnded) {
  session_.join(0, kNoPid);
  table_.adopt_claims();
  end(0);
  session_.join(1, pid_here(), kSlotForked).parent_serial = 1;
  table_.adopt_claims();
  EXPECT_TRUE(table_.processes().contains(1));
}

TEST_F(ProcessTableTest, NoticesAnExecAfterAnotherNamespacesProcessOfThatPidEnded) {
  session_.join(0, pid_here());
  session_.join(1, pid_here(), kSlotForked | kSlotForeignPids);
  table_.adopt_claims();
  end(1);
  die(0);
  session_.join(2, pid_here());
  table_.adopt_claims();
  EXPECT_FALSE(table_.processes().contains(0));
}

TEST_F(ProcessTableTest, NoticesTheEndOfAProcessWhoseOwnerNobodyWatches) {
  const int child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (;;) pause();
  }
  session_.join(0, static_cast<uint32_t>(child)).lock.word = kUnwatchedOwner;
  table_.adopt_claims();
  EXPECT_FALSE(process(0).is_gone());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(process(0).is_gone());
}

// So that no other recording takes it meanwhile.
TEST_F(ProcessTableTest, HasTheNameOfTheRecordingBeforeThereIsAnythingToWrite) {
  session_.join(0, pid_here());
  table_.adopt_claims();
  table_.wait_for_tapes();
  EXPECT_TRUE(std::filesystem::exists(dir_.file("run.tape.partial")));
}

}  // namespace
}  // namespace heaptape::recorder
