// What a recording tells of the memory of the whole process.
#include <filesystem>
#include <map>
#include <regex>

#include "schema/report/report_figures.h"
#include "schema/tape/tape_reader.h"
#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class ProcessMemory : public RecordTest {
 protected:
  // Records the program with so many MiB; what it says of its anonymous memory, in bytes.
  uint64_t record_program(const std::string& small, const std::string& large,
                          const std::string& beside, const Words& environment = {}) {
    const Ended ended = record(CommandLine{
        .words = {target_path("beside_malloc"), small, large, beside}, .environment = environment});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return ended.status == 0 ? std::stoull(ended.out) << 10 : 0;
  }
  // `command` of this build on the tape; what it prints.
  std::string output(const std::string& command, const Words& arguments) const {
    Words words{heaptape_path(), command, tape_path()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_command(words).out;
  }
  schema::ProcessSample largest() {
    const Tape tape = read_tape();
    EXPECT_TRUE(tape.summary.largest_sample);
    return tape.summary.largest_sample.value_or(schema::ProcessSample());
  }
};

// The kernel shows what the program mapped below the heap of its arena as a part of that heap.
TEST_F(ProcessMemory, OfMallocIsNotWhatTheProgramMappedBesideAnArena) {
  const Ended ended = record({target_path("joined_mapping")});
  if (ended.status == 4) GTEST_SKIP() << "this kernel shows two mappings";
  ASSERT_EQ(ended.status, 0) << ended.describe();
  const schema::ProcessSample sample = largest();
  EXPECT_GT(sample.resident_bytes, 24 * kMiB);
  ASSERT_TRUE(sample.parts.malloc_bytes);
  EXPECT_LT(*sample.parts.malloc_bytes, kMiB / 2);
  std::string explain = output("explain", {"-a", "recorded", "--at", "end"});
  const std::string owner = " + joined_mapping 24.0 MiB";
  ASSERT_NE(explain.find(owner), std::string::npos) << explain;
  explain.erase(explain.find(owner), owner.size());
  EXPECT_EQ(explain.find("24.0 MiB"), std::string::npos) << explain;
}

// Rounded MiB of each owner, of malloc and of stacks.
std::map<std::string, uint64_t> owned(const schema::ProcessSample& sample) {
  std::map<std::string, uint64_t> mebibytes;
  const auto add = [&](const std::string& owner, uint64_t bytes) {
    if (const uint64_t rounded = (bytes + kMiB / 2) / kMiB; rounded != 0)
      mebibytes[owner] = rounded;
  };
  add("(malloc)", sample.parts.malloc_bytes.value_or(0));
  add("(stacks)", sample.parts.stack_bytes.value_or(0));
  for (const schema::OwnedMemory& memory : sample.parts.owners) add(memory.owner, memory.bytes);
  return mebibytes;
}
using Owned = std::map<std::string, uint64_t>;

uint64_t known_bytes(const schema::ProcessSample& sample) {
  uint64_t bytes = sample.parts.malloc_bytes.value_or(0) + sample.parts.stack_bytes.value_or(0);
  for (const schema::OwnedMemory& memory : sample.parts.owners) bytes += memory.bytes;
  return bytes;
}

TEST_F(ProcessMemory, IsOfThoseWhoMappedIt) {
  ASSERT_EQ(record({target_path("mappings")}).status, 0);
  EXPECT_EQ(owned(largest()), (Owned{{"libmapper", 12}, {"mappings", 8}, {"data", 6}}));
  EXPECT_GE(known_bytes(largest()), largest().resident_bytes / 100 * 98);
}

TEST_F(ProcessMemory, IsOfThoseWhoMovedTheBreak) {
  ASSERT_EQ(record({target_path("mappings"), "break"}).status, 0);
  Owned parts = owned(largest());
  // It joins malloc's heap, where that has blocks.
  EXPECT_EQ(parts["libmapper"] + parts["(malloc)"], 14u);
  EXPECT_TRUE(std::regex_search(dump(), std::regex(" brk\\+\\(0x[0-9a-f]+, 2097152\\)")));
}

TEST_F(ProcessMemory, IsCalledWhatTheProgramCallsIt) {
  const Ended ended = record({target_path("mappings"), "name"});
  if (ended.status == 77) GTEST_SKIP() << "this kernel has no names of memory";
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_EQ(owned(largest()),
            (Owned{{"libmapper", 12}, {"mappings", 8}, {"data", 6}, {"my_heap", 4}}));
}

TEST_F(ProcessMemory, IsNobodysIfNoHookSawItMapped) {
  ASSERT_EQ(record({target_path("mappings"), "raw"}).status, 0);
  const schema::ProcessSample sample = largest();
  EXPECT_EQ(owned(sample), (Owned{{"libmapper", 12}, {"mappings", 8}, {"data", 6}}));
  EXPECT_NEAR(static_cast<double>(sample.resident_bytes - known_bytes(sample)), 4.0 * kMiB,
              0.5 * kMiB);
}

// As Go's.
TEST_F(ProcessMemory, IsOfTheRunTimeThatMapsItPastTheHooks) {
  ASSERT_EQ(record({target_path("mappings_go"), "raw"}).status, 0);
  auto tape = schema::TapeReader::open(tape_path());
  ASSERT_TRUE(tape.ok());
  schema::EventBatch batch;
  schema::ProcessSample last;
  do {
    ASSERT_TRUE(tape->read(batch, 1000).ok());
    if (!batch.samples.empty()) last = batch.samples.back();
  } while (!batch.empty());
  EXPECT_EQ(owned(last), (Owned{{"libmapper", 12}, {"mappings_go", 12}, {"data", 6}}));
}

TEST_F(ProcessMemory, IsInheritedByChildren) {
  ASSERT_EQ(record({target_path("mappings"), "fork"}).status, 0);
  const std::vector<Tape> tapes = read_tapes();
  ASSERT_EQ(tapes.size(), 2u);
  ASSERT_TRUE(tapes[1].summary.largest_sample);
  EXPECT_EQ(owned(*tapes[0].summary.largest_sample),
            (Owned{{"libmapper", 12}, {"mappings", 8}, {"data", 6}}));
  EXPECT_EQ(owned(*tapes[1].summary.largest_sample),
            (Owned{{"libmapper", 8}, {"mappings", 8}, {"data", 6}}));
}

// jemalloc maps its memory by the same functions.
TEST_F(ProcessMemory, OfMallocIsNotThatOfItsLibrary) {
  const Ended ended = record(CommandLine{.words = {target_path("beside_malloc"), "24", "12", "40"},
                                         .environment = {"LD_PRELOAD=libjemalloc.so.2"}});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  Owned parts = owned(largest());
  EXPECT_EQ(parts["beside_malloc"], 40u);
  EXPECT_EQ(parts["libjemalloc"], 0u);
}

// In its operator new, which no hook of malloc encloses, too.
TEST_F(ProcessMemory, OfOperatorNewIsNotThatOfItsLibrary) {
  const Ended ended = record(CommandLine{.words = {target_path("large_new")},
                                         .environment = {"LD_PRELOAD=libjemalloc.so.2"}});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  const std::string calls = dump();
  EXPECT_NE(calls.find(" new[](20971520)"), std::string::npos) << calls;
  EXPECT_EQ(calls.find("mmap("), std::string::npos) << calls;
}

TEST_F(ProcessMemory, IsMappedByCallsThatTheTapeHas) {
  ASSERT_EQ(record({target_path("mappings")}).status, 0);
  const std::string calls = dump();
  for (const char* const call :
       {"t0 mmap(0x100100000000, 12582912, 0x3, 0x22)", "t0 mmap(0x100200000000, 8388608, ",
        "t0 munmap(0x100200200000, 3145728)", "t0 munmap(0x100300000000, 3145728)",
        "t0 mmap(0x100400000000, 3145728, 0x0, 0x0)"}) {
    EXPECT_NE(calls.find(call), std::string::npos) << call << " is not in\n" << calls;
  }
  EXPECT_TRUE(verifies());
  // Behind the first call: before the second.
  EXPECT_NE(output("dump", {"--from", "2", "--to", "2"}).find("munmap("), std::string::npos);
  EXPECT_EQ(output("dump", {"--from", "3"}).find("munmap("), std::string::npos);
}

TEST_F(ProcessMemory, IsMappedByFunctions) {
  const bool has_stacks = std::getenv(kStacksVariable) != nullptr;
  const Words options = has_stacks ? Words() : Words{"--stacks", "dwarf"};
  ASSERT_EQ(record({target_path("mappings")}, options).status, 0);
  const std::string folded = output("export", {"--format", "folded", "--value", "mapped"});
  std::map<std::string, uint64_t> mebibytes;  // by the innermost function
  std::istringstream lines(folded);
  for (std::string line; std::getline(lines, line);) {
    const size_t function = line.rfind(';') + 1;
    const size_t value = line.rfind(' ') + 1;
    mebibytes[line.substr(function, value - 1 - function)] += std::stoull(line.substr(value)) >> 20;
  }
  EXPECT_EQ(mebibytes["map_bytes"], 15u) << folded;
  EXPECT_EQ(mebibytes["map_own"], 8u) << folded;
  EXPECT_EQ(mebibytes["main"], 3u) << folded;
  EXPECT_NE(output("stats", {"--by", "site", "--sort", "mapped"}).find("bytes mapped"),
            std::string::npos);
}

TEST_F(ProcessMemory, IsNobodysWithoutItsCalls) {
  ASSERT_EQ(record({target_path("mappings")}, {"--mmap", "off"}).status, 0);
  EXPECT_EQ(owned(largest()), (Owned{{"data", 6}}));
  EXPECT_EQ(dump().find("mmap"), std::string::npos);
}

TEST_F(ProcessMemory, IsMappedAsWithoutARecorder) {
  EXPECT_RECORDING_CHANGES_NOTHING(CommandLine{.words = {target_path("mapping_results")}});
  const std::string calls = dump();
  // From before the first call to malloc.
  EXPECT_NE(calls.find(" mmap(0x100000000000, 65536, "), std::string::npos) << calls;
  EXPECT_NE(calls.find(" mprotect(0x100000000000, 4096, 0x1)"), std::string::npos) << calls;
  EXPECT_NE(calls.find(" madvise(0x100000001000, 4096, 0x4)"), std::string::npos) << calls;
  EXPECT_NE(calls.find(" brk+("), std::string::npos) << calls;
  EXPECT_NE(calls.find(" brk-("), std::string::npos) << calls;
  EXPECT_EQ(calls.find("12345"), std::string::npos) << calls;
  // It stays where it was.
  EXPECT_NE(calls.find(" mmap(0x100000000000, 4096, 0x0, 0x0)"), std::string::npos) << calls;
  for (const char* const refused : {"munmap(0x100000000001", "munmap(0x100000000000, 0)"}) {
    EXPECT_EQ(calls.find(refused), std::string::npos) << refused << " is in\n" << calls;
  }
  EXPECT_FALSE(std::regex_search(calls, std::regex("munmap\\(0x100000000000, [0-9]{7}")));
  // Those that failed: memory that cannot move, and none that is there.
  EXPECT_EQ(calls.find("0x100040000000"), std::string::npos) << calls;
  EXPECT_EQ(calls.find("mmap(0x100000000000, 8192"), std::string::npos) << calls;
}

// The program makes a few pages resident after the last sample, as it reads its own figures.
constexpr uint64_t kSlack = kMiB / 2;

TEST_F(ProcessMemory, IsMallocsAndTheRest) {
  const uint64_t anonymous = record_program("24", "12", "40");
  const schema::ProcessSample sample = largest();
  EXPECT_NEAR(static_cast<double>(sample.resident_bytes), static_cast<double>(anonymous), kSlack);
  ASSERT_TRUE(sample.parts.malloc_bytes);
  // Blocks of 1,000 bytes take 1,008 of glibc's heap.
  EXPECT_NEAR(static_cast<double>(*sample.parts.malloc_bytes), 36.3 * kMiB, kSlack);
  EXPECT_GE(sample.parts.peak_bytes, sample.resident_bytes);
}

// The stacks of the first thread and of another; its arena and memory beside malloc are no stacks.
TEST_F(ProcessMemory, HasStacksOfThreadsBesideMalloc) {
  record_program("2", "1", "20");
  const schema::ProcessSample without = largest();
  ASSERT_TRUE(without.parts.stack_bytes);
  EXPECT_LT(*without.parts.stack_bytes, kMiB / 2);
  ASSERT_EQ(record({target_path("beside_malloc"), "2", "1", "20", "5"}).status, 0);
  const schema::ProcessSample with = largest();
  ASSERT_TRUE(with.parts.stack_bytes);
  EXPECT_NEAR(static_cast<double>(*with.parts.stack_bytes), 10.0 * kMiB, kSlack);
  EXPECT_NEAR(static_cast<double>(with.resident_bytes),
              static_cast<double>(without.resident_bytes) + 10.0 * kMiB, kSlack);
  EXPECT_NE(output("info", {}).find(" + stacks 10."), std::string::npos);
}

// Which has size classes of 1,024 bytes and 12 MiB.
TEST_F(ProcessMemory, IsSplitForOtherAllocators) {
  record_program("24", "12", "40", {"LD_PRELOAD=libjemalloc.so.2"});
  const schema::ProcessSample sample = largest();
  ASSERT_TRUE(sample.parts.malloc_bytes);
  EXPECT_NEAR(static_cast<double>(*sample.parts.malloc_bytes), 36.8 * kMiB, kMiB);
}

TEST_F(ProcessMemory, IsListedUnderTheTitleOfTheProcess) {
  ASSERT_EQ(record({target_path("retitled"), "first"}).status, 0);
  EXPECT_EQ(manifest().processes.at(0).title, "serves 42");
  EXPECT_EQ(manifest().processes.at(0).command_line, (Words{target_path("retitled"), "first"}));
  const std::string list = tape_path() + ".manifest.json";
  const Ended shown = run_command({heaptape_path(), "info", list, "--contains", "serves"});
  EXPECT_NE(shown.out.find("\n* serves 42 "), std::string::npos) << shown.describe();
  const Ended replay =
      run_command({heaptape_path(), "replay", list, "--process", "serves", "-a", "noop"});
  EXPECT_EQ(replay.status, 0) << replay.describe();
  EXPECT_EQ(run_command({heaptape_path(), "info", list, "--wide"}).status, 0);
  const Ended live = run_command({heaptape_path(), "info", list, "--live", "--wide"});
  EXPECT_EQ(live.status, 0) << live.describe();
  EXPECT_NE(live.out.find("  peak live  live at end  "), std::string::npos) << live.out;
  std::filesystem::rename(tape_path(), dir_.file("away"));
  EXPECT_EQ(run_command({heaptape_path(), "info", list, "--live"}).status, 1);
  std::filesystem::rename(dir_.file("away"), tape_path());
  const Ended refused = run_command({heaptape_path(), "info", tape_path(), "--sort", "pid"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("are for a manifest: give '" + list + "'"), std::string::npos)
      << refused.describe();
}

// The process lives on as that program, which is not recorded.
TEST_F(ProcessMemory, IsNotThatOfAProgramThatItExecuted) {
  const Ended ended =
      record({target_path("inner_cpython"), target_path("beside_malloc_static"), "24", "12", "40"});
  ASSERT_EQ(ended.status, 0) << ended.describe();
  EXPECT_GT(std::stoull(ended.out.substr(ended.out.rfind('\n', ended.out.size() - 2) + 1)),
            70'000u);
  EXPECT_LT(largest().resident_bytes, 4 * kMiB);
}

TEST_F(ProcessMemory, IsTheSameWhereverItIsTold) {
  record_program("8", "4", "30");
  const schema::ProcessSample sample = largest();
  const std::string words = schema::memory_text(sample, {});
  EXPECT_EQ(manifest().processes.at(0).largest_sample, sample);
  EXPECT_NE(output("info", {}).find("\nmemory     " + words), std::string::npos);
  const std::string replay = output("replay", {"-a", "recorded", "-a", "model:ptmalloc"});
  EXPECT_NE(replay.find(" before: " + words + "\n"), std::string::npos) << replay;
  const std::string explain = output("explain", {"-a", "recorded", "--at", "end"});
  EXPECT_NE(explain.find("\nprocess: " + words + "\n"), std::string::npos) << explain;
}

TEST_F(ProcessMemory, OfTheRecordedRunIsMallocsPart) {
  record_program("8", "4", "30");
  const std::string report = dir_.file("report.json");
  output("replay", {"-a", "recorded", "-o", report});
  const auto figures = schema::read_figures(report);
  ASSERT_TRUE(figures.ok());
  const auto end = figures->runs.at(0).metric("end.residentBytes");
  ASSERT_TRUE(end);
  // The end is the last sample, a few pages away from the largest.
  EXPECT_NEAR(static_cast<double>(schema::number_of(*end)),
              static_cast<double>(*largest().parts.malloc_bytes), kSlack);
}

// malloc has 12 of 42 MiB: which allocator has it hardly matters.
TEST_F(ProcessMemory, BesideMallocIsSaidBeforeAnAllocatorIsNamed) {
  record_program("8", "4", "30");
  const std::string replay = output("replay", {"-a", "model:ptmalloc", "-a", "model:slabs"});
  const std::regex verdict(
      "at the peak, 30\\.. MiB of 42\\.. MiB anonymous memory \\(7.\\..%\\) is beside malloc: "
      "another allocator cannot change that");
  EXPECT_TRUE(std::regex_search(replay, verdict)) << replay;
  EXPECT_EQ(replay.find("would hold"), std::string::npos) << replay;
  EXPECT_EQ(replay.find("distance to ideal"), std::string::npos) << replay;
  const std::string page = dir_.file("page.html");
  output("replay", {"-a", "model:ptmalloc", "-a", "model:slabs", "--html", page});
  const std::string html = read_bytes(page);
  EXPECT_TRUE(std::regex_search(html, verdict));
  const std::regex compared("\"kind\": *\"(allocator|purged|noBetter)\"");
  EXPECT_FALSE(std::regex_search(html, compared)) << "which allocator matters little";
}

TEST_F(ProcessMemory, OfMallocAloneIsNotWorthASentence) {
  record_program("30", "4", "0");
  const std::string replay = output("replay", {"-a", "model:ptmalloc", "-a", "model:slabs"});
  EXPECT_EQ(replay.find("is beside malloc:"), std::string::npos) << replay;
  EXPECT_NE(replay.find("hold less"), std::string::npos) << replay;
}

}  // namespace
}  // namespace heaptape::tests
