// What the live screen costs a recording, recording forks and mapping calls, and replaying: whole
// programs, run in turn and compared pair by pair. (tests/bench/record_cost.py has recording
// itself.)
#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "schema/report/report_metrics.h"
#include "tests/bench/whole_programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using namespace bench;  // NOLINT: programs and their times

const std::string kTargets = HEAPTAPE_BENCH_TARGETS;
const std::string kHeaptape = HEAPTAPE_BINARY;
constexpr int kPairs = 5;

double seconds_now() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

Command recorded(const std::string& tape, const Command& command) {
  Command all = {kHeaptape, "record", "--force", "-o", tape, "--"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

Command live(const std::string& tape, const Command& command) {
  Command all = recorded(tape, command);
  all.insert(all.begin() + 2, "--live");
  return all;
}

// Times `command` bare and under `with_recorder`, which is asked for the number of each pair, in
// turn; reports medians and the median ratio.
template <typename CommandOfPair>
void compare(benchmark::State& state, const Command& command, CommandOfPair with_recorder) {
  std::vector<double> bare;
  std::vector<double> under;
  std::vector<double> ratios;
  run(command);  // warm-up
  for (auto _ : state) {
    bare.push_back(run(command));
    under.push_back(run(with_recorder(bare.size())));
    ratios.push_back(under.back() / bare.back());
    state.SetIterationTime(under.back());
  }
  state.counters["bare_s"] = median(bare);
  state.counters["recorded_s"] = median(under);
  state.counters["ratio"] = median(ratios);
}
void compare(benchmark::State& state, const Command& command, const Command& with_recorder) {
  compare(state, command, [&](size_t) { return with_recorder; });
}

Command random_loop() {
  return {kTargets + "/random_loop", "20000000"};
}
// With the live screen against without it: here bare_s is of a recording, too.
void BM_LiveRandomLoop(benchmark::State& state) {
  tests::TempDir dir;
  compare(state, recorded(dir.file("a"), random_loop()), live(dir.file("b"), random_loop()));
}
void BM_LivePythonJson(benchmark::State& state) {
  tests::TempDir dir;
  const Command command = python_json(dir);
  compare(state, recorded(dir.file("a"), command), live(dir.file("b"), command));
}
// 20,001 processes, each with a tape of its own. 0: in the folder for temporary files, 1: in
// memory.
void BM_RecordForks(benchmark::State& state) {
  const tests::TempDir temporary;
  const tests::TempDir in_memory("/dev/shm");
  const tests::TempDir& dir = state.range(0) == 0 ? temporary : in_memory;
  const Command forks = {HEAPTAPE_FORKS, "many", "20000"};
  compare(state, forks, [&](size_t pair) {
    const std::string folder = dir.file(std::to_string(pair));
    std::filesystem::create_directory(folder);
    return recorded(folder + "/t", forks);
  });
}
// Calls that map memory: half a million system calls.
void BM_RecordMappingCalls(benchmark::State& state) {
  const tests::TempDir dir;
  const Command loop = {kTargets + "/map_loop", "250000"};
  compare(state, loop, recorded(dir.file("t"), loop));
}
BENCHMARK(BM_RecordMappingCalls)
    ->Iterations(3 * kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LiveRandomLoop)->Iterations(kPairs)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LivePythonJson)->Iterations(kPairs)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RecordForks)
    ->DenseRange(0, 1)
    ->Iterations(kPairs)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

constexpr const char* kReplayedOn[] = {"noop", "glibc", "model:ptmalloc", "model:runs",
                                       "model:slabs"};

// Replays one tape on one allocator at a time; nanoseconds by event as the report has them, of the
// allocator alone, and events by second of the whole command, analysis and all.
void replay(benchmark::State& state, const Command& program) {
  tests::TempDir dir;
  run(recorded(dir.file("t"), program));
  std::vector<double> ns;
  std::vector<double> events_per_second;
  const std::string allocator = kReplayedOn[state.range(0)];
  for (auto _ : state) {
    const double begin = seconds_now();
    run({kHeaptape, "replay", dir.file("t"), "-a", allocator, "-o", dir.file("r.json")});
    const auto report = schema::read_figures(dir.file("r.json"));
    HEAPTAPE_CHECK(report.ok());
    events_per_second.push_back(static_cast<double>(report->tape_events) / (seconds_now() - begin));
    const auto metric = report->runs.front().metric("time.nsPerEvent");
    ns.push_back(static_cast<double>(schema::number_of(*metric)));
    state.SetIterationTime(ns.back() * 1e-9);
  }
  state.SetLabel(allocator);
  state.counters["ns_per_event"] = median(ns);
  state.counters["events_per_second"] = median(events_per_second);
}
void BM_ReplayRandomLoop(benchmark::State& state) {
  replay(state, random_loop());
}
void BM_ReplayPythonJson(benchmark::State& state) {
  tests::TempDir dir;
  replay(state, python_json(dir));
}
BENCHMARK(BM_ReplayRandomLoop)->DenseRange(0, 4)->Iterations(kPairs)->UseManualTime();
BENCHMARK(BM_ReplayPythonJson)->DenseRange(0, 4)->Iterations(kPairs)->UseManualTime();

}  // namespace
}  // namespace heaptape

BENCHMARK_MAIN();
