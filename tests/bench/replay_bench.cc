// What replays cost, as whole commands, for each event of the tape; beside them the floor: a loop
// that makes the same calls from a list in memory. Everything runs in turn, at random, and medians
// of five are told. HEAPTAPE_BENCH_TAPE names a tape to take instead of those that are recorded
// here, HEAPTAPE_BENCH_BINARY another build of heaptape to time beside this one: before and after.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/address/pages.h"
#include "base/check.h"
#include "replayer/engine/slot_resolver.h"
#include "replayer/engine/tape_moments.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/command.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using allocators::ReplayKind;
using Words = std::vector<std::string>;

const std::string kHeaptape = HEAPTAPE_BINARY;
const std::string kTargets = HEAPTAPE_BENCH_TARGETS;
constexpr size_t kBatchEvents = 1 << 14;

tests::Ended run(const Words& words, const std::vector<std::string>& environment = {}) {
  tests::Ended ended =
      tests::run_command({.words = words, .environment = environment, .time_limit_seconds = 3000});
  if (ended.status == 0) return ended;
  std::fprintf(stderr, "%s: %s\n", words.front().c_str(), ended.describe().c_str());
  std::abort();
}

schema::TapeReader open(const std::string& path) {
  auto tape = schema::TapeReader::open(path);
  HEAPTAPE_CHECK(tape.ok());
  return std::move(*tape);
}

// Calls visit(batch) for the whole tape, and returns how many slots it has.
template <typename Visit>
uint32_t resolve(schema::TapeReader& tape, Visit visit) {
  replayer::SlotResolver resolver(tape.events());
  replayer::ResolvedBatch batch;
  schema::EventBatch read;
  for (uint64_t done = 0; done < tape.events(); done += read.events.size()) {
    HEAPTAPE_CHECK(tape.read(read, kBatchEvents).ok() && !read.events.empty());
    HEAPTAPE_CHECK(resolver.resolve(read.events, done, batch).ok());
    visit(batch);
  }
  return batch.slot_limit;
}

// The calls of a tape as targets/resolved_loop.c reads them.
struct Floor {
  std::string path;
  uint32_t slots = 0;
};

// The kinds that it tells apart, in its order; all others are aligned_alloc there.
uint64_t floor_event(const allocators::ReplayOp& op) {
  constexpr ReplayKind kKinds[] = {ReplayKind::kMalloc, ReplayKind::kCalloc, ReplayKind::kRealloc,
                                   ReplayKind::kFree};
  const auto kind = static_cast<uint64_t>(std::ranges::find(kKinds, op.kind) - std::begin(kKinds));
  return op.slot | kind << 29 | std::min<uint64_t>(op.size, UINT32_MAX) << 32;
}

Floor write_floor(const std::string& tape_path, const std::string& path) {
  auto tape = open(tape_path);
  std::ofstream file(path, std::ios::binary);
  const uint32_t slots = resolve(tape, [&file](const replayer::ResolvedBatch& batch) {
    std::vector<uint64_t> events;
    for (const allocators::ReplayOp& op : batch.ops) {
      const bool is_call = op.kind != ReplayKind::kNothing && op.kind != ReplayKind::kFreeNull;
      if (is_call) events.push_back(floor_event(op));
    }
    file.write(reinterpret_cast<const char*>(events.data()),
               static_cast<std::streamsize>(events.size() * sizeof(uint64_t)));
  });
  HEAPTAPE_CHECK(slots < 1u << 29 && file.flush().good());
  return {path, slots};
}

struct Tape {
  std::string name;
  std::string path;
  Floor floor;
};

// A Python program that writes and reads 60,000 records of JSON, every object through malloc; a
// compiler; a tight loop of random malloc and free.
std::vector<Tape> record_tapes(const tests::TempDir& dir) {
  if (const char* const given = std::getenv("HEAPTAPE_BENCH_TAPE")) {
    return {{"given", given, write_floor(given, dir.file("given.floor"))}};
  }
  std::ofstream(dir.file("records.py")) << R"(import json
records = [{"id": i, "name": "user%d" % i, "tags": ["a%d" % (i % 7), "b%d" % (i % 11)],
            "score": i * 1.5, "nested": {"x": i, "y": [i, i + 1]}} for i in range(60000)]
assert len(json.loads(json.dumps(records))) == 60000
)";
  const auto record = [&dir](const std::string& name, const Words& words) {
    Words all = {kHeaptape, "record", "-o", dir.file(name), "--"};
    all.insert(all.end(), words.begin(), words.end());
    run(all, {"PYTHONMALLOC=malloc"});
  };
  record("json", {"/usr/bin/python3", dir.file("records.py")});
  // The driver compiles nothing itself: the tape is that of cc1plus.
  const std::string source = HEAPTAPE_SOURCE_DIR "/schema/tape/tape_reader.cc";
  record("driver", {"g++", "-std=c++20", "-O1", "-I", HEAPTAPE_SOURCE_DIR, "-S", source, "-o",
                    dir.file("out.s")});
  const std::string found = run({"sh", "-c", "ls -S " + dir.file("driver") + "* | head -n 1"}).out;
  record("random", {kTargets + "/random_loop", "20000000"});
  std::vector<Tape> tapes = {{"json", dir.file("json"), {}},
                             {"compiler", found.substr(0, found.size() - 1), {}},
                             {"random", dir.file("random"), {}}};
  for (Tape& tape : tapes) tape.floor = write_floor(tape.path, dir.file(tape.name + ".floor"));
  return tapes;
}

// Times body() as the benchmark's one iteration; nanoseconds for each event.
void time_events(benchmark::State& state, uint64_t events, const std::function<void()>& body) {
  double seconds = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    seconds += took.count();
    state.SetIterationTime(took.count());
  }
  const double all = static_cast<double>(state.iterations()) * static_cast<double>(events);
  state.counters["ns_per_event"] = seconds * 1e9 / all;
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& function) {
  benchmark::RegisterBenchmark(name.c_str(), function)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void add_command(const Tape& tape, const std::string& name, const Words& words) {
  // An older build may not know --jobs.
  const char* const other = std::getenv("HEAPTAPE_BENCH_BINARY");
  if (other != nullptr && words[0] == kHeaptape &&
      std::ranges::find(words, "--jobs") == words.end()) {
    Words others = words;
    others[0] = other;
    add_command(tape, name + "/other", others);
  }
  const uint64_t events = open(tape.path).events();
  add(tape.name + "/" + name, [words, events](benchmark::State& state) {
    time_events(state, events, [&] { run(words); });
  });
}

Words replay_of(const Tape& tape, const Words& allocators, const Words& options = {}) {
  Words words = {kHeaptape, "replay", tape.path, "--touch", "none"};
  for (const std::string& allocator : allocators) words.insert(words.end(), {"-a", allocator});
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

// `options` are those of targets/resolved_loop.c.
void add_floor(const std::string& name, const Tape& tape, const Words& options = {}) {
  add(name, [tape, options](benchmark::State& state) {
    double ns = 0;
    for (auto _ : state) {
      Words words = {kTargets + "/resolved_loop", tape.floor.path,
                     std::to_string(tape.floor.slots)};
      words.insert(words.end(), options.begin(), options.end());
      ns = std::stod(run(words).out);
      state.SetIterationTime(ns * 1e-9);
    }
    state.counters["ns_per_event"] = ns;
  });
}

void add_steps(const Tape& tape) {
  const uint64_t events = open(tape.path).events();
  add_floor(tape.name + "/floor", tape);
  for (const char* events_between : {"12000", "131072", "524288"}) {
    add_floor(tape.name + "/floor, pauses every " + events_between, tape, {events_between});
  }
  add(tape.name + "/read", [tape, events](benchmark::State& state) {
    time_events(state, events, [&tape] {
      auto reader = open(tape.path);
      schema::EventBatch batch;
      do {
        HEAPTAPE_CHECK(reader.read(batch, kBatchEvents).ok());
      } while (!batch.events.empty());
    });
  });
  add(tape.name + "/read and resolve", [tape, events](benchmark::State& state) {
    time_events(state, events, [&tape] {
      auto reader = open(tape.path);
      resolve(reader, [](const replayer::ResolvedBatch& batch) {
        benchmark::DoNotOptimize(batch.ops.data());
      });
    });
  });
  add(tape.name + "/find moments", [tape, events](benchmark::State& state) {
    time_events(state, events, [&tape] {
      auto reader = open(tape.path);
      HEAPTAPE_CHECK(replayer::find_moments(reader, UINT64_MAX, nullptr).ok());
    });
  });
}

void add_tape(const Tape& tape) {
  add_steps(tape);
  add_command(tape, "stats", {kHeaptape, "stats", tape.path});
  for (const char* const allocator :
       {"noop", "glibc", "jemalloc", "recorded", "model:ptmalloc", "model:slabs"}) {
    add_command(tape, allocator, replay_of(tape, {allocator}));
  }
}

void add_samples(const Tape& tape) {
  for (const char* const allocator : {"glibc", "jemalloc"}) {
    for (const char* const samples : {"10", "2000"}) {
      add_command(tape, std::string(allocator) + "/samples:" + samples,
                  replay_of(tape, {allocator}, {"--samples", samples}));
    }
  }
}

// Ten settings of one model, one at a time and two at a time, beside one of them alone.
void add_candidates(const Tape& tape) {
  Words ten;
  for (int count = 1; count <= 10; ++count) {
    const std::string number = std::to_string(count);
    ten.push_back("c" + number + "=model:ptmalloc:tcache_count=" + number);
  }
  add_command(tape, "one candidate", replay_of(tape, {ten[6]}));
  for (const char* const jobs : {"1", "2"}) {
    add_command(tape, std::string("ten candidates/jobs:") + jobs,
                replay_of(tape, ten, {"--jobs", jobs}));
  }
}

// What a page costs that is touched for the first time: written, or read and then written, while
// another thread of the process is at work.
void add_pages() {
  for (const bool is_read_first : {false, true}) {
    add(is_read_first ? "page/read and written" : "page/written",
        [is_read_first](benchmark::State& state) {
          constexpr size_t kPages = 1 << 16;
          std::atomic<bool> is_over = false;
          std::jthread other([&is_over] {
            while (!is_over) benchmark::DoNotOptimize(is_over);
          });
          void* const memory = mmap(nullptr, kPages * base::kPageBytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
          HEAPTAPE_CHECK(memory != MAP_FAILED);
          time_events(state, kPages, [memory, is_read_first] {
            auto* const bytes = static_cast<volatile char*>(memory);
            for (size_t i = 0; i < kPages; ++i) {
              if (is_read_first) benchmark::DoNotOptimize(bytes[i * base::kPageBytes]);
              bytes[i * base::kPageBytes] = 1;
            }
          });
          munmap(memory, kPages * base::kPageBytes);
          is_over = true;
        });
  }
}

// Eight threads at the same loop.
void add_threads(const tests::TempDir& dir) {
  const Tape tape = {"threads", dir.file("threads"), {}};
  run({kHeaptape, "record", "-o", tape.path, "--", kTargets + "/thread_loop", "8", "250000"});
  for (const char* const threads : {"merged", "ordered"}) {
    add_command(tape, std::string("glibc/") + threads,
                replay_of(tape, {"glibc"}, {"--threads", threads}));
  }
}

// Blocks that grow step by step: what a call takes in the program itself, which writes what is new,
// and by the replay of its tape, which touches it.
void add_growth(const tests::TempDir& dir) {
  const Words steps[] = {{"8", "2400000", "1"}, {"64", "60000", "200"}, {"4096", "4000000", "20"}};
  const std::pair<std::string, std::string> allocators[] = {
      {"glibc", ""},
      {"jemalloc", "libjemalloc.so.2"},
      {"mimalloc", tests::mimalloc_library()},
      {"tcmalloc", "libtcmalloc_minimal.so.4"}};
  for (const Words& step : steps) {
    Words program = {kTargets + "/grow_loop"};
    program.insert(program.end(), step.begin(), step.end());
    const std::string tape = dir.file("grow" + step[0]);
    Words record = {kHeaptape, "record", "-o", tape, "--"};
    record.insert(record.end(), program.begin(), program.end());
    run(record);
    const auto add_time = [&](const std::string& name, const std::function<double()>& ns_of_call) {
      add("grow by " + step[0] + "/" + name, [ns_of_call](benchmark::State& state) {
        double ns = 0;
        for (auto _ : state) {
          ns = ns_of_call();
          state.SetIterationTime(ns * 1e-9);
        }
        state.counters["ns_per_event"] = ns;
      });
    };
    for (const auto& [name, library] : allocators) {
      const std::string preload = "LD_PRELOAD=" + library;
      add_time(name + "/live", [=] { return std::stod(run(program, {preload}).out); });
      add_time(name + "/replay", [=, &dir, name = name] {
        return tests::ratio_of(tests::replay_run(dir, tape, name), "time.nsPerEvent");
      });
    }
  }
}

}  // namespace
}  // namespace heaptape

int main(int argc, char** argv) {
  const heaptape::tests::TempDir dir;
  const auto tapes = heaptape::record_tapes(dir);
  for (const auto& tape : tapes) heaptape::add_tape(tape);
  if (std::getenv("HEAPTAPE_BENCH_TAPE") == nullptr) {
    heaptape::add_samples(tapes.front());
    heaptape::add_candidates(tapes.front());
    heaptape::add_threads(dir);
    heaptape::add_growth(dir);
    heaptape::add_pages();
  }
  // What is given on the command line comes last, and counts.
  std::vector<char*> arguments = {argv[0]};
  std::string defaults[] = {"--benchmark_repetitions=5",
                            "--benchmark_enable_random_interleaving=true",
                            "--benchmark_report_aggregates_only=true"};
  for (std::string& option : defaults) arguments.push_back(option.data());
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
