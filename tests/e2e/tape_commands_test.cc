// info, verify, dump, stats, recover and allocators.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/number_text.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_text.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using schema::Event;
using tests::Ended;
using tests::expect_refusal;
using tests::run;

constexpr size_t kChunk = 1000;

class TapeCommands : public testing::Test {
 protected:
  TapeCommands() {
    tests::Random random(3);
    events_ = tests::plausible_events(random, 5 * kChunk);
  }

  // In chunks of kChunk events, with a sample of the process behind each, and a last one.
  void write(bool finish = true) {
    auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
    for (size_t i = 0; i < events_.size(); ++i) {
      (*writer)->append(events_[i]);
      if (i % kChunk == kChunk - 1) {
        (*writer)->add_time((i + 1) * 100);
        (*writer)->add_sample({0, i * 100, (i + 1) * 4096, {}});
        (*writer)->flush();
      }
    }
    (*writer)->add_sample({0, 0, 4096, {}});
    if (!finish) return;
    EXPECT_TRUE((*writer)->finish({}).ok());
  }
  // Spoils a byte of the payload of chunk `number` of events.
  void damage(size_t number) {
    const auto chunks = schema::TapeReader::open(tape_)->chunks();
    std::string bytes = tests::read_bytes(tape_);
    bytes[chunks[1 + number].offset + 60] ^= 2;
    tests::write_bytes(tape_, bytes);
  }
  Ended recover(const std::string& from) {
    return run({"heaptape", "recover", from, "-o", dir_.file("out.tape")});
  }
  std::vector<Event> recovered() {
    auto reader = schema::TapeReader::open(dir_.file("out.tape"));
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return reader.ok() ? tests::read_events(*reader) : std::vector<Event>();
  }
  std::vector<Event> events_without(size_t begin, size_t end) const {
    std::vector<Event> rest = events_;
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(begin),
               rest.begin() + static_cast<ptrdiff_t>(end));
    return rest;
  }
  std::string text(size_t from, size_t to, schema::TextFormat format) const {
    std::string lines;
    for (size_t n = from; n <= to; ++n) schema::append_event(lines, format, n, events_[n - 1]);
    return lines;
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("t.tape");
  std::vector<Event> events_;
};

TEST_F(TapeCommands, InfoSaysWhatTheTapeIsOf) {
  write();
  const Ended outcome = run({"heaptape", "info", tape_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("command    ./program --flag 'a b'"), std::string::npos);
  EXPECT_NE(outcome.out.find("events     5,000 = "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("losses     none"), std::string::npos);
}

// A sample says 100 ns a call; before the first of them nobody knows.
TEST_F(TapeCommands, DumpSaysWhenCallsWereMade) {
  write();
  const auto first = std::to_string(kChunk + 250);
  const Ended outcome = run({"heaptape", "dump", tape_, "--times", "--from", first, "--to", first});
  std::string line = text(kChunk + 250, kChunk + 250, schema::TextFormat::kText);
  line.insert(line.size() - 1, base::format_text(" at %.9f", (kChunk + 250) * 100e-9));
  EXPECT_EQ(outcome.out, line);
  const Ended unknown = run({"heaptape", "dump", tape_, "--times", "--to", "1"});
  EXPECT_EQ(unknown.out, text(1, 1, schema::TextFormat::kText));
}

// The recorder puts a sample on each side of a pause.
TEST_F(TapeCommands, DumpGivesACallTheTimeBeforeThePauseBehindIt) {
  auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
  for (uint64_t i = 1; i <= 3; ++i) {
    (*writer)->append(tests::malloc_event(16, i * 0x1000));
    (*writer)->add_time(i == 3 ? 9'001'000 : i * 1000);
    if (i == 2) (*writer)->add_time(9'000'000);
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  const std::string times = run({"heaptape", "dump", tape_, "--times"}).out;
  EXPECT_NE(times.find("2 t0 malloc(16) = 0x2000 at 0.000002000\n"), std::string::npos) << times;
  EXPECT_NE(times.find("3 t0 malloc(16) = 0x3000 at 0.009"), std::string::npos) << times;
}

TEST_F(TapeCommands, InfoAndStatsNameTheThreads) {
  schema::TapeSummary summary;
  summary.thread_list = {{42, "main"}, {43, "worker"}};
  tests::write_tape(tape_, events_, summary);
  const std::string info = run({"heaptape", "info", tape_}).out;
  EXPECT_NE(info.find("  t1 worker, id 43\n"), std::string::npos) << info;
  const std::string stats = run({"heaptape", "stats", tape_, "--json"}).out;
  EXPECT_NE(stats.find("{\"id\": 43, \"name\": \"worker\"}"), std::string::npos) << stats;
}

TEST_F(TapeCommands, InfoWritesJsonOfAllThatItPrints) {
  schema::TapeSummary summary;
  summary.end_status = 3;
  summary.losses.causes.no_ring = 7;
  summary.stalls = 12;
  tests::write_tape(tape_, events_, summary);
  const std::string json = run({"heaptape", "info", tape_, "--json"}).out;
  for (const char* part :
       {"\"command\": \"./program --flag 'a b'\"", "\"events\": 5000", "\"finished\": true",
        "\"ended\": \"exited with status 3\"", "\"noRing\": 7", "\"stalls\": 12"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
}

TEST_F(TapeCommands, VerifyPassesAWholeTape) {
  write();
  const Ended outcome = run({"heaptape", "verify", tape_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("5,000 events can be read; no damage, no losses"), std::string::npos);
}

TEST_F(TapeCommands, VerifyReportsWhatTheRecorderLost) {
  schema::TapeSummary summary;
  summary.losses.lost_events = 7;
  tests::write_tape(tape_, events_, summary);
  const Ended outcome = run({"heaptape", "verify", tape_});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("7 calls not recorded"), std::string::npos) << outcome.out;
}

TEST_F(TapeCommands, VerifyReportsCallsOfAThreadThatHadEnded) {
  auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
  (*writer)->append(tests::malloc_event(1, 0x1000, 0));
  (*writer)->append(tests::malloc_event(1, 0x2000, 1));
  (*writer)->add_end(1);
  (*writer)->append(tests::malloc_event(1, 0x3000, 0));
  (*writer)->append(tests::malloc_event(1, 0x4000, 1));
  ASSERT_TRUE((*writer)->finish({}).ok());
  const Ended outcome = run({"heaptape", "verify", tape_});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("1 call of threads that had ended, the first #4"), std::string::npos)
      << outcome.out;
  std::filesystem::resize_file(tape_, std::filesystem::file_size(tape_) - 1);
  const std::string cut = run({"heaptape", "verify", tape_}).out;
  EXPECT_NE(cut.find("\ndamage     1 call of threads that had ended, the first #4\n"),
            std::string::npos)
      << cut;
  EXPECT_NE(cut.find("NOT SOUND: `heaptape recover`"), std::string::npos) << cut;
}

TEST_F(TapeCommands, DumpShowsThreadEndsBetweenTheirEvents) {
  auto writer = schema::TapeWriter::create(tape_, tests::sample_header());
  for (const uint32_t thread : {1, 2}) {
    (*writer)->append(tests::malloc_event(1, 0x1000 * thread, thread));
    (*writer)->add_end(thread);
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  EXPECT_EQ(run({"heaptape", "dump", tape_}).out,
            "1 t1 malloc(1) = 0x1000\n1 t1 ends\n2 t2 malloc(1) = 0x2000\n2 t2 ends\n");
  EXPECT_EQ(run({"heaptape", "dump", tape_, "--from", "2"}).out,
            "2 t2 malloc(1) = 0x2000\n2 t2 ends\n");
}

TEST_F(TapeCommands, DumpWritesTheEventsAskedFor) {
  write();
  const auto dump = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"heaptape", "dump", tape_});
    return run(options).out;
  };
  using schema::TextFormat;
  EXPECT_EQ(dump({}), text(1, 5000, TextFormat::kText));
  EXPECT_EQ(dump({"--from", "999", "--to", "1002"}), text(999, 1002, TextFormat::kText));
  EXPECT_EQ(dump({"--from", "4999", "--format", "ndjson"}), text(4999, 5000, TextFormat::kNdjson));
  EXPECT_EQ(dump({"--to", "1"}), text(1, 1, TextFormat::kText));
  EXPECT_EQ(dump({"--from", "5001"}), "");
}

TEST_F(TapeCommands, DumpRefusesAnEndBeforeTheBeginning) {
  write();
  expect_refusal(run({"heaptape", "dump", tape_, "--from", "10", "--to", "5"}),
                 "--from 10 is after --to 5");
}

TEST_F(TapeCommands, DumpContinuesAfterDamage) {
  write();
  damage(1);
  const Ended outcome = run({"heaptape", "dump", tape_, "--from", "1500"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, text(2001, 5000, schema::TextFormat::kText));
}

TEST_F(TapeCommands, RecoverKeepsAllButADamagedChunk) {
  write();
  damage(2);
  const Ended outcome = recover(tape_);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("4,000 events recovered, 1 damaged stretch"), std::string::npos);
  EXPECT_TRUE(recovered() == events_without(2 * kChunk, 3 * kChunk));
}

TEST_F(TapeCommands, RecoverCountsWhatIsLost) {
  write();
  damage(2);
  recover(tape_);
  const auto summary = schema::TapeReader::open(dir_.file("out.tape"))->summary();
  EXPECT_EQ(summary->losses.lost_events, kChunk);
  EXPECT_EQ(summary->losses.lost_ranges, 1u);
  EXPECT_EQ(summary->end_reason, schema::EndReason::kRecovered);
  const Ended verified = run({"heaptape", "verify", dir_.file("out.tape")});
  EXPECT_EQ(verified.status, 1);
  EXPECT_EQ(verified.out.find("damage "), std::string::npos) << verified.out;
}

TEST_F(TapeCommands, RecoverSumsUpWhatSeveralDamagesLost) {
  write();
  damage(1);
  damage(3);
  recover(tape_);
  const auto summary = schema::TapeReader::open(dir_.file("out.tape"))->summary();
  EXPECT_EQ(summary->losses.lost_events, 2 * kChunk);
  EXPECT_EQ(summary->losses.lost_ranges, 2u);
}

TEST_F(TapeCommands, RecoverAsksForTheNameOfItsTape) {
  write();
  tests::expect_refusal(run({"heaptape", "recover", tape_, "-o", ""}), "the file name is empty");
}

TEST_F(TapeCommands, RecoverKeepsTheChunksBeforeATornEnd) {
  write();
  const auto chunks = schema::TapeReader::open(tape_)->chunks();
  tests::write_bytes(tape_, tests::read_bytes(tape_).substr(0, chunks[5].offset + 50));
  EXPECT_EQ(recover(tape_).status, 0);
  EXPECT_TRUE(recovered() == events_without(4 * kChunk, 5 * kChunk));
}

TEST_F(TapeCommands, RecoverFinishesWhatAKilledRecorderLeft) {
  write(false);
  ASSERT_TRUE(std::filesystem::exists(tape_ + ".partial"));
  EXPECT_EQ(recover(tape_ + ".partial").status, 0);
  EXPECT_TRUE(recovered() == events_);
  EXPECT_EQ(run({"heaptape", "replay", dir_.file("out.tape"), "-a", "noop"}).status, 0);
}

TEST_F(TapeCommands, RecoverMayWriteWhereTheRecordingWouldHave) {
  write(false);
  EXPECT_EQ(run({"heaptape", "recover", tape_ + ".partial", "-o", tape_}).status, 0);
  auto reader = schema::TapeReader::open(tape_);
  EXPECT_TRUE(tests::read_events(*reader) == events_);
}

TEST_F(TapeCommands, RecoverKeepsTheSamplesOfTheProcess) {
  write();
  recover(tape_);
  schema::EventBatch batch;
  std::vector<std::vector<schema::ProcessSample>> samples;
  for (const std::string& path : {tape_, dir_.file("out.tape")}) {
    auto reader = schema::TapeReader::open(path);
    auto& all = samples.emplace_back();
    do {
      ASSERT_TRUE(reader->read(batch, 777).ok());
      all.insert(all.end(), batch.samples.begin(), batch.samples.end());
    } while (!batch.events.empty());
  }
  EXPECT_EQ(samples[0].size(), 6u);
  EXPECT_EQ(samples[0], samples[1]);
}

TEST_F(TapeCommands, CopiesDoNotReplaceTheirOwnSource) {
  write();
  const std::string before = tests::read_bytes(tape_);
  for (const char* const command : {"recover", "pack"}) {
    expect_refusal(run({"heaptape", command, tape_, "-o", tape_}), "is the tape itself");
  }
  EXPECT_EQ(tests::read_bytes(tape_), before);
}

TEST_F(TapeCommands, RecoverIsRefusedWhereNoFileCanBeCreated) {
  write();
  expect_refusal(run({"heaptape", "recover", tape_, "-o", dir_.file("none/out")}), "none/out");
}

TEST_F(TapeCommands, StatsCountsCallsByEntryPoint) {
  tests::write_tape(tape_, {tests::malloc_event(10, 0x10000), tests::malloc_event(5, 0x20000),
                            tests::realloc_event(0x10000, 30, 0x30000), tests::free_event(0),
                            tests::free_event(0x20000)});
  const std::string json = run({"heaptape", "stats", tape_, "--json"}).out;
  for (const char* part : {"\"op\": \"malloc\", \"count\": 2", "\"op\": \"realloc\", \"count\": 1",
                           "\"op\": \"free\", \"count\": 2", "\"nullFrees\": 1",
                           "\"peakLiveBytes\": {\"value\": 35, \"at\": 3}"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
}

TEST_F(TapeCommands, AllocatorsListsAllAndSaysWhichAreThere) {
  const Ended outcome = run({"heaptape", "allocators"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* name : {"recorded", "noop", "glibc", "jemalloc", "mimalloc", "tcmalloc",
                           "lib:PATH", "model:runs"}) {
    EXPECT_NE(("\n" + outcome.out).find("\n" + std::string(name) + " "), std::string::npos) << name;
  }
  const size_t glibc = outcome.out.find("glibc");
  const std::string line = outcome.out.substr(glibc, outcome.out.find('\n', glibc) - glibc);
  EXPECT_EQ(line.find("not available"), std::string::npos) << line;
}

TEST_F(TapeCommands, AllocatorsListsOptionsInAColumnWithTheirDefaults) {
  const std::string out = run({"heaptape", "allocators"}).out;
  EXPECT_NE(out.find("\n    :tcache_count=7        chunks"), std::string::npos) << out;
  EXPECT_NE(out.find("\n    :mmap_threshold=unset  M_MMAP_THRESHOLD"), std::string::npos) << out;
  EXPECT_EQ(out.find("18446744073709551615"), std::string::npos) << out;
}

// What `heaptape allocators --json` says of one.
base::Result<std::string> listed(const std::string& spec, const std::string& member) {
  const std::string json = run({"heaptape", "allocators", "--json", "-a", spec}).out;
  const size_t list = json.find("\"allocators\"");
  const std::string key = "\"" + member + "\": ";
  const size_t at = json.find(key, list);
  if (list == std::string::npos || at == std::string::npos) return base::Error::usage(json);
  const size_t begin = at + key.size();
  const size_t end =
      json[begin] == '"' ? json.find('"', begin + 1) + 1 : json.find_first_of(",}", begin);
  return json.substr(begin, end - begin);
}

TEST_F(TapeCommands, AllocatorsAsJsonNameTheFileThatServesMalloc) {
  for (const auto& [spec, file] : {std::pair("glibc", "/libc.so.6\""),
                                   {"jemalloc MALLOC_CONF=narenas:1", "/libjemalloc.so.2\""}}) {
    const auto library = listed(spec, "library");
    ASSERT_TRUE(library.ok()) << library.error().message;
    EXPECT_TRUE(library->ends_with(file)) << *library;
    const auto build_id = listed(spec, "buildId");
    ASSERT_TRUE(build_id.ok()) << build_id.error().message;
    EXPECT_EQ(build_id->size(), 42u) << *build_id;  // 20 bytes, between quotes
  }
}

TEST_F(TapeCommands, AllocatorsAsJsonHaveTheSpecWithoutItsLabel) {
  const std::string spec = "lean=glibc GLIBC_TUNABLES=glibc.malloc.arena_max=1";
  EXPECT_EQ(listed(spec, "label").value(), "\"lean\"");
  EXPECT_EQ(listed(spec, "spec").value(), "\"glibc GLIBC_TUNABLES=glibc.malloc.arena_max=1\"");
  EXPECT_EQ(listed(spec, "kind").value(), "\"native\"");
}

TEST_F(TapeCommands, AllocatorsAsJsonHaveNoFileForModels) {
  EXPECT_EQ(listed("model:ptmalloc:arena_max=1", "spec").value(), "\"model:ptmalloc:arena_max=1\"");
  EXPECT_EQ(listed("model:ptmalloc", "available").value(), "true");
  EXPECT_FALSE(listed("model:ptmalloc", "library").ok());
  EXPECT_FALSE(listed("noop", "library").ok());
}

TEST_F(TapeCommands, AllocatorsAsJsonNameTheBuildsOfHeaptape) {
  const std::string json = run({"heaptape", "allocators", "--json", "-a", "noop"}).out;
  const std::string version = run({"heaptape", "--version"}).out;
  EXPECT_NE(json.find("\"version\": \"" + version.substr(9, version.size() - 10) + "\""),
            std::string::npos)
      << json;
  const auto build_ids = json.substr(json.find("\"buildIds\": ["));
  EXPECT_EQ(build_ids.find("\", \""), std::string("\"buildIds\": [\"").size() + 40) << build_ids;
}

TEST_F(TapeCommands, AllocatorsAsJsonAreAllThatNeedNoPath) {
  const std::string json = run({"heaptape", "allocators", "--json"}).out;
  for (const char* label : {"recorded", "noop", "glibc", "model:ideal"}) {
    EXPECT_NE(json.find("\"label\": \"" + std::string(label) + "\""), std::string::npos) << label;
  }
  EXPECT_EQ(json.find("PATH"), std::string::npos);
}

TEST_F(TapeCommands, AllocatorsRefuseWrongWords) {
  expect_refusal(run({"heaptape", "allocators", "--json", "-a", "gilbc"}), "gilbc");
  expect_refusal(run({"heaptape", "allocators", "-a", "glibc"}), "-a needs --json");
}

TEST_F(TapeCommands, InfoSaysThatAScenarioHasNoProgram) {
  const std::string tape = dir_.file("fill.tape");
  ASSERT_EQ(run({"heaptape", "scenario", "fill", "--set", "count=3", "-o", tape}).status, 0);
  const std::string out = run({"heaptape", "info", tape}).out;
  EXPECT_NE(out.find("\nprogram    none: scenario, written by heaptape "), std::string::npos)
      << out;
  EXPECT_EQ(out.find("1970"), std::string::npos) << out;
}

// 1 KiB is room for the beginning of a tape and no chunk of calls.
TEST_F(TapeCommands, ScenarioThatFindsNoRoomLeavesNothing) {
  const auto ended = run({"sh", "-c",
                          "trap '' XFSZ; ulimit -f 1; '" + tests::heaptape_path() +
                              "' scenario random-slots -o '" + dir_.file("s") + "'"});
  EXPECT_EQ(ended.status, 2) << ended.describe();
  EXPECT_FALSE(std::filesystem::exists(dir_.file("s.partial")));
}

}  // namespace
}  // namespace heaptape
