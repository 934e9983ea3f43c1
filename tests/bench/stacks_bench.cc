// What call stacks cost a program: bare, recorded without them, with those of a few calls and with
// all, and under heaptrack, where it is installed; whole programs in turn, round by round.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "schema/tape/tape_reader.h"
#include "tests/bench/whole_programs.h"
#include "tests/support/command.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using namespace bench;  // NOLINT: programs and their times

constexpr int kRounds = 5;

Command recorded(const std::string& folder, const std::string& stacks, const Command& command) {
  std::filesystem::create_directory(folder);
  Command all = {HEAPTAPE_BINARY, "record", "--force",     "--stacks",
                 stacks,          "-o",     folder + "/t", "--"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

Command heaptracked(const std::string& folder, const Command& command) {
  std::filesystem::create_directory(folder);
  Command all = {"/usr/bin/heaptrack", "-o", folder + "/h"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

struct TapeSize {
  double events = 0;
  double bytes = 0;
};
// Of all processes of a recording.
TapeSize size_of_tapes(const std::string& folder) {
  TapeSize size;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") continue;
    const auto tape = schema::TapeReader::open(entry.path());
    HEAPTAPE_CHECK(tape.ok());
    size.events += static_cast<double>(tape->events());
    size.bytes += static_cast<double>(tape->file_bytes());
  }
  return size;
}

// One way to run the program, and how long it took in each round.
struct Way {
  std::string name;
  Command command;
  std::string folder;  // of its tapes; empty: it makes none
  std::vector<double> seconds = {};
};

std::vector<Way> ways_of(const tests::TempDir& dir, const Command& command) {
  std::vector<Way> ways = {{"bare", command, ""}};
  for (const char* name : {"none", "sampled", "fp", "dwarf"}) {
    const std::string folder = dir.file(name);
    const std::string stacks = name == std::string("sampled") ? "dwarf,every=512KiB" : name;
    ways.push_back({name, recorded(folder, stacks, command), folder});
  }
  if (std::filesystem::exists("/usr/bin/heaptrack")) {
    ways.push_back({"heaptrack", heaptracked(dir.file("heaptrack"), command), ""});
  }
  return ways;
}

const Way& way_of(const std::vector<Way>& ways, std::string_view name) {
  return *std::ranges::find(ways, name, &Way::name);
}

// By how much the way takes longer than bare: the median over the rounds.
double added_seconds(const Way& way, const Way& bare) {
  std::vector<double> added;
  for (size_t i = 0; i < bare.seconds.size(); ++i)
    added.push_back(way.seconds[i] - bare.seconds[i]);
  return median(added);
}

// What part of the time of the other it takes: the median over the rounds.
double time_ratio(const Way& way, const Way& other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < way.seconds.size(); ++i)
    ratios.push_back(way.seconds[i] / other.seconds[i]);
  return median(ratios);
}

void report(benchmark::State& state, const std::vector<Way>& ways) {
  const Way& bare = way_of(ways, "bare");
  const TapeSize plain = size_of_tapes(way_of(ways, "none").folder);
  state.counters["events"] = plain.events;
  state.counters["bare_s"] = median(bare.seconds);
  state.counters["sampled_of_none"] = time_ratio(way_of(ways, "sampled"), way_of(ways, "none"));
  for (const Way& way : ways) {
    if (way.name == "bare") continue;
    state.counters["ns_" + way.name] = added_seconds(way, bare) * 1e9 / plain.events;
    if (way.folder.empty()) continue;
    const TapeSize size = size_of_tapes(way.folder);
    state.counters["bytes_" + way.name] = size.bytes / size.events;
  }
  if (ways.back().name != "heaptrack") return;
  const double theirs = added_seconds(ways.back(), bare);
  state.counters["dwarf_of_heaptrack"] = added_seconds(way_of(ways, "dwarf"), bare) / theirs;
}

template <typename Program>
void stacks(benchmark::State& state, Program program) {
  const tests::TempDir dir;
  std::vector<Way> ways = ways_of(dir, program(dir));
  for (Way& way : ways) run(way.command);  // warm-up
  for (auto _ : state) {
    for (Way& way : ways) way.seconds.push_back(run(way.command));
    state.SetIterationTime(ways.back().seconds.back());
  }
  report(state, ways);
}

void BM_StacksDeepLoop(benchmark::State& state) {
  const std::string frames = std::to_string(state.range(0));
  stacks(state, [&](const tests::TempDir&) {
    return Command{HEAPTAPE_BENCH_TARGETS "/deep_loop", "5000000", frames};
  });
}
void BM_StacksPythonJson(benchmark::State& state) {
  stacks(state, python_json);
}
// The compiler proper: g++ executes it, and heaptrack would see g++ alone.
void BM_StacksCompiler(benchmark::State& state) {
  stacks(state, [](const tests::TempDir& dir) {
    const std::string source = dir.file("source.ii");
    run({"g++", "-std=c++20", "-I" HEAPTAPE_SOURCE_DIR, "-E",
         HEAPTAPE_SOURCE_DIR "/schema/tape/tape_file.cc", "-o", source});
    const std::string found = tests::run_command({"g++", "-print-prog-name=cc1plus"}).out;
    return Command{found.substr(0, found.find('\n')),
                   "-quiet",
                   "-std=c++20",
                   "-O2",
                   "-fpreprocessed",
                   source,
                   "-o",
                   dir.file("s")};
  });
}
void BM_StacksSqlite(benchmark::State& state) {
  stacks(state, [](const tests::TempDir&) {
    return Command{
        "sqlite3", ":memory:",
        "create table t(a integer, b text);"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)"
        " insert into t select i % 1000, printf('row %d of a table', i) from n;"
        "create index i on t(b);"
        "select a, group_concat(b), count(*) from t group by a order by 2;"};
  });
}
BENCHMARK(BM_StacksDeepLoop)
    ->Arg(5)
    ->Arg(20)
    ->Arg(40)
    ->Iterations(kRounds)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_StacksPythonJson)->Iterations(kRounds)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_StacksCompiler)->Iterations(kRounds)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_StacksSqlite)->Iterations(kRounds)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heaptape

BENCHMARK_MAIN();
