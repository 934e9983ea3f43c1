// Forked children begin with their parents' heaps.
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/record_fixture.h"
#include "tests/support/command.h"
#include "tests/support/recordings.h"

namespace heaptape::tests {
namespace {

// What the program says of one of its children, in requested bytes.
struct Child {
  uint32_t pid = 0;
  uint64_t live = 0;
  uint64_t peak = 0;
};

class Inheritance : public RecordTest {
 protected:
  std::vector<Child> record_family(const std::string& family, size_t children,
                                   const Words& options = {"--wait", "all"}) {
    const Ended ended = record({target_path("inheritance"), family}, options);
    EXPECT_EQ(ended.status, 0) << ended.describe();
    std::vector<Child> found;
    std::istringstream lines(ended.out);
    for (Child child; lines >> child.pid >> child.live >> child.peak;) found.push_back(child);
    EXPECT_EQ(found.size(), children) << ended.out;
    EXPECT_TRUE(all_verify());
    return found;
  }
  std::string tape_of(uint32_t pid) const {
    for (const schema::ManifestProcess& process : manifest().processes) {
      if (process.pid == pid) return dir_.file(process.tape);
    }
    ADD_FAILURE() << "no tape of " << pid;
    return "";
  }
  static std::string heaptape(Words words) {
    words.insert(words.begin(), heaptape_path());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return ended.out + ended.err;
  }
  // The child's blocks are on its tape, as it counts them, beside some of the C library.
  void expect_heap_of(const Child& child) const {
    const std::string tape = tape_of(child.pid);
    const schema::RunFigures recorded = replay_run(dir_, tape, "recorded");
    EXPECT_EQ(count_of(recorded, "accounting.unknownFrees"), 0u) << child.pid;
    expect_close(count_of(recorded, "peak.liveBytes"), child.peak);
    expect_close(count_of(recorded, "end.liveBytes"), child.live);
  }
  static void expect_close(uint64_t found, uint64_t own) {
    constexpr uint64_t kOthersBytes = 8 << 10;
    EXPECT_GE(found, own);
    EXPECT_LE(found, own + kOthersBytes);
  }
  // On the allocator on which it ran, every block is where it was.
  void expect_replay_of(const Child& child, const std::string& spec) const {
    const schema::RunFigures again = replay_run(dir_, tape_of(child.pid), spec);
    EXPECT_EQ(ratio_of(again, "fidelity.sameOffsetShare"), 1.0) << spec << " " << child.pid;
    EXPECT_EQ(count_of(again, "accounting.refused"), 0u);
    EXPECT_GE(count_of(again, "fidelity.comparedBlocks"), 5000u);
  }
};

TEST_F(Inheritance, IsTheHeapAtTheFork) {
  const std::vector<Child> children = record_family("brood", 5);
  for (const Child& child : children) expect_heap_of(child);
}

TEST_F(Inheritance, GoesDownToGrandchildren) {
  const std::vector<Child> line = record_family("line", 2);
  for (const Child& child : line) expect_heap_of(child);
}

TEST_F(Inheritance, IsThatOfTheLastAncestorWithCalls) {
  for (const Child& child : record_family("quiet", 1)) expect_heap_of(child);
}

// Live bytes, and what the samples say is malloc's.
TEST_F(Inheritance, IsMemoryOfMalloc) {
  const Child child = record_family("bulk", 1).front();
  EXPECT_EQ(child.peak, 50'000'000u);
  expect_heap_of(child);
  const auto sample = read_tape(tape_of(child.pid)).summary.largest_sample;
  ASSERT_TRUE(sample);
  EXPECT_GE(sample->parts.malloc_bytes.value(), child.peak);
}

TEST_F(Inheritance, IsThatOfAThreadThatForks) {
  for (const Child& child : record_family("thread", 1)) expect_heap_of(child);
}

TEST_F(Inheritance, OutlivesTheParent) {
  for (const char* family : {"daemon", "late-daemon"}) {
    for (const Child& child : record_family(family, 1)) expect_heap_of(child);
  }
}

TEST_F(Inheritance, IsKnownOfChildrenThatEndAtOnce) {
  const std::vector<Child> children = record_family("brief", 100);
  for (size_t i = 0; i < children.size(); i += 20) expect_heap_of(children[i]);
  for (const Child& child : children) {
    const Tape tape = read_tape(tape_of(child.pid), schema::Inherited::kJoin);
    EXPECT_EQ(walk_heap(tape.events).unknown_frees, 0u) << child.pid;
  }
}

TEST_F(Inheritance, IsKnownOfChildrenThatExecuteAtOnce) {
  for (const Child& child : record_family("execute", 20)) expect_heap_of(child);
}

// Workers crash and are forked anew. Each leaves its tape.
TEST_F(Inheritance, IsThatOfWorkersOfAServer) {
  constexpr size_t kWorkers = 3;
  constexpr size_t kCrashes = 6;
  const std::string script = "cd " + dir_.file("") +
                             R"(; mkfifo bell; exec 9<>bell; pids=()
      spawn() { (x=$(printf %099999d 1); : >ready.$1; read -rt 60 -u 9) & pids[$1]=$!; }
      await() { until [ -e ready.$1 ]; do sleep 0.01; done; rm ready.$1; }
      for i in 0 1 2; do spawn $i; done
      for n in {0..5}; do
        i=$((n % 3)); await $i; kill -9 ${pids[i]}; wait ${pids[i]}; spawn $i
      done 2>/dev/null
      for i in 0 1 2; do await $i; done; kill ${pids[@]}; wait; exit 5)";
  const Ended ended = record({"bash", "-c", script});
  EXPECT_EQ(ended.status, 5) << ended.describe();
  EXPECT_TRUE(all_verify());
  const schema::Manifest whole = manifest();
  size_t workers = 0;
  for (const schema::ManifestProcess& process : whole.processes) {
    const auto tape = schema::TapeReader::open(dir_.file(process.tape));
    ASSERT_TRUE(tape.ok()) << tape.error().message;
    EXPECT_EQ(tape->inherited_problem(), "") << process.tape;
    EXPECT_EQ(tape->summary()->losses.lost_events, 0u);
    const bool is_worker = process.parent_pid == whole.processes[0].pid &&
                           tape->joined_blocks() != 0 && tape->own_events() > 20;
    workers += is_worker ? 1 : 0;
  }
  EXPECT_EQ(workers, kWorkers + kCrashes);
}

// The fork is in a process that was not recorded then.
TEST_F(Inheritance, IsNotKnownBeforeALateStart) {
  const Ended ended =
      record({target_path("late"), heaptape_path() + " ctl $PPID start >&2"}, {"--paused"});
  uint64_t unknown = 0;
  for (const schema::ManifestProcess& process : manifest().processes) {
    const std::string info = heaptape({"info", dir_.file(process.tape)});
    unknown += info.find("\ninherited  the heap that it inherited is not known") != info.npos;
  }
  EXPECT_GE(unknown, 1u) << ended.describe();
}

TEST_F(Inheritance, IsReplayedWithItsHoles) {
  if (const std::string reason = not_glibc_2_36(); !reason.empty()) GTEST_SKIP() << reason;
  for (const char* family : {"brood", "line"}) {
    for (const Child& child : record_family(family, family[0] == 'b' ? 5 : 2)) {
      expect_replay_of(child, "glibc");
      expect_replay_of(child, "model:ptmalloc");
    }
  }
}

// The child's own first calls, too, are made before the analysis.
TEST_F(Inheritance, IsReplayedBeforeARange) {
  const Child child = record_family("line", 2).back();
  const std::string tape = tape_of(child.pid);
  const uint64_t inherited = json_number(heaptape({"info", "--json", tape}), "inheritedBlocks");
  for (const char* spec : {"glibc", "model:ptmalloc", "recorded"}) {
    const schema::RunFigures whole = replay_run(dir_, tape, spec);
    const schema::RunFigures range =
        replay_run(dir_, tape, spec, {"--from", std::to_string(inherited + 1000)});
    EXPECT_EQ(count_of(range, "accounting.before"), inherited + 999);
    for (const char* metric :
         {"end.liveBytes", "end.liveCount", "end.committedBytes", "end.holes.bytes",
          "end.holes.count", "end.usableBytes", "accounting.unknownFrees"}) {
      EXPECT_EQ(count_of(range, metric), count_of(whole, metric)) << spec << " " << metric;
    }
    if (not_glibc_2_36().empty() && spec != std::string("recorded")) {
      EXPECT_EQ(ratio_of(range, "fidelity.sameOffsetShare"), 1.0) << spec;
    }
  }
}

TEST_F(Inheritance, IsReplayedOfSubshells) {
  if (const std::string reason = not_glibc_2_36(); !reason.empty()) GTEST_SKIP() << reason;
  const Ended ended = record({"bash", "-c", "for i in {1..20}; do (echo $i; :); done"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const auto processes = manifest().processes;
  ASSERT_EQ(processes.size(), 21u);
  for (const schema::ManifestProcess& process : processes) {
    for (const char* spec : {"glibc", "model:ptmalloc"}) {
      const schema::RunFigures again = replay_run(dir_, dir_.file(process.tape), spec);
      EXPECT_EQ(ratio_of(again, "fidelity.sameOffsetShare"), 1.0) << spec << " " << process.pid;
      EXPECT_GE(count_of(again, "fidelity.comparedBlocks"), 100u);
    }
  }
  // The blocks alone, without the parent's holes.
  const std::string copy = dir_.file("copy.tape");
  heaptape({"pack", dir_.file(processes.back().tape), "-o", copy});
  EXPECT_LT(ratio_of(replay_run(dir_, copy, "glibc"), "fidelity.sameOffsetShare"), 0.5);
}

TEST_F(Inheritance, IsReplayedWhereAThreadForks) {
  if (const std::string reason = not_glibc_2_36(); !reason.empty()) GTEST_SKIP() << reason;
  for (const Child& child : record_family("thread", 1)) {
    expect_replay_of(child, "glibc");
    expect_replay_of(child, "model:ptmalloc");
  }
}

TEST_F(Inheritance, IsSaidOfATape) {
  const Child child = record_family("daemon", 1).front();
  const std::string info = heaptape({"info", tape_of(child.pid)});
  EXPECT_NE(info.find("\ninherited  "), std::string::npos) << info;
  EXPECT_NE(info.find(" calls on run.tape; they come before its own calls\n"), std::string::npos)
      << info;
  const Tape joined = read_tape(tape_of(child.pid), schema::Inherited::kJoin);
  const Tape own = read_tape(tape_of(child.pid));
  const std::string facts = heaptape({"info", "--json", tape_of(child.pid)});
  const uint64_t inherited = json_number(facts, "inheritedBlocks");
  EXPECT_GT(inherited, 5000u);
  EXPECT_EQ(joined.events.size(), own.events.size() + inherited);
  EXPECT_EQ(json_number(facts, "events"), joined.events.size());
  EXPECT_EQ(heaptape({"info", tape_path()}).find("inherited"), std::string::npos);
}

TEST_F(Inheritance, IsMissedWithoutTheParentsTape) {
  const Child child = record_family("daemon", 1).front();
  const std::string tape = tape_of(child.pid);
  std::filesystem::rename(tape_path(), dir_.file("elsewhere.tape"));
  const std::string missing =
      "the heap that it inherited is not known: its parent's tape, 'run.tape', is not beside it "
      "as it was recorded";
  const std::string info = heaptape({"info", tape});
  EXPECT_NE(info.find("inherited  " + missing + "\n"), std::string::npos) << info;
  const std::string table = heaptape({"replay", tape, "-a", "recorded", "-a", "model:ptmalloc"});
  EXPECT_NE(table.find("recorded: " + missing), std::string::npos) << table;
  EXPECT_NE(table.find("model:ptmalloc: " + missing), std::string::npos) << table;
  EXPECT_EQ(json_number(heaptape({"info", "--json", tape}), "inheritedBlocks"), 0u);
  // Another tape of that name is not the parent's.
  std::filesystem::copy_file(tape, tape_path());
  EXPECT_NE(heaptape({"info", tape}).find(missing), std::string::npos);
}

TEST_F(Inheritance, IsOnCopiesOfTheTape) {
  const Child child = record_family("line", 2).front();
  const std::string tape = tape_of(child.pid);
  const std::vector<schema::Event> events = read_tape(tape, schema::Inherited::kJoin).events;
  const std::string copy = dir_.file("copy.tape");
  for (const char* command : {"pack", "recover", "scrub"}) {
    heaptape({command, tape, "-o", copy});
    std::filesystem::create_directory(dir_.file("away"));
    const std::string away = dir_.file("away/copy.tape");
    std::filesystem::rename(copy, away);
    const Tape copied = read_tape(away);
    ASSERT_EQ(copied.events.size(), events.size()) << command;
    if (command != std::string("scrub")) {
      EXPECT_EQ(copied.events, events) << command;
    }
    const std::string info = heaptape({"info", away});
    EXPECT_NE(info.find("\ninherited  "), std::string::npos) << info;
    EXPECT_EQ(info.find("not known"), std::string::npos) << info;
    const schema::RunFigures recorded = replay_run(dir_, away, "recorded");
    EXPECT_EQ(count_of(recorded, "accounting.unknownFrees"), 0u) << command;
    expect_close(count_of(recorded, "peak.liveBytes"), child.peak);
    EXPECT_NE(
        heaptape({"replay", away, "-a", "model:ptmalloc"}).find("holes from then are missing"),
        std::string::npos);
  }
}

TEST_F(Inheritance, IsOnPartsOfTheTape) {
  const Child child = record_family("line", 2).front();
  const std::string copy = dir_.file("copy.tape");
  const auto carried = [&](const Words& range) {
    Words words = {"scrub", tape_of(child.pid), "-o", copy};
    words.insert(words.end(), range.begin(), range.end());
    heaptape(words);
    return json_number(heaptape({"info", "--json", copy}), "inheritedBlocks");
  };
  const uint64_t all = carried({});
  EXPECT_EQ(carried({"--to", "100"}), 100u);
  EXPECT_EQ(carried({"--from", "101"}), all) << "those held, and those that follow";
  EXPECT_EQ(carried({"--from", std::to_string(all + 1)}), all);
  EXPECT_GT(carried({"--from", std::to_string(all + 1000)}), 5000u);
}

TEST_F(Inheritance, HasTheStacksOfTheParent) {
  if (std::getenv(kStacksVariable) != nullptr) GTEST_SKIP() << "it says itself how to record";
  const Ended ended =
      record({target_path("inheritance"), "line"}, {"--wait", "all", "--stacks", "dwarf"});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  std::istringstream lines(ended.out);
  Child last;
  for (Child child; lines >> child.pid >> child.live >> child.peak;) {
    const std::string sites =
        heaptape({"stats", tape_of(child.pid), "--by", "site", "--sort", "end", "--json"});
    const uint64_t live = json_number(sites.substr(sites.find("\"sites\"")), "liveBytes");
    EXPECT_GE(live, child.live) << "take() has them all";
    EXPECT_NE(sites.find("\"take_bytes\""), std::string::npos);
    last = child;
  }
  // Symbols are numbered behind those of the parent's frames.
  heaptape({"symbolize", tape_of(last.pid)});
  const auto notes = [&] { return heaptape({"stats", tape_of(last.pid), "--by", "site"}); };
  EXPECT_EQ(notes().find("belongs to another tape"), std::string::npos);
  std::filesystem::rename(tape_path(), dir_.file("elsewhere.tape"));
  EXPECT_NE(notes().find("belongs to another tape"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::tests
