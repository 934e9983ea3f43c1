// What answers cost beside the plain replay to the same event, which is the baseline: the bar of
// `explain` and `holes` is 1.3 times that. The tapes are those of docs/questions, and a scenario
// with many live blocks. HEAPTAPE_BENCH_TAPE names one more.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "replayer/engine/explain.h"
#include "replayer/report/explain_output.h"
#include "scenarios/scenario.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

const std::string& fleet_tape() {
  static const tests::TempDir dir;
  static const std::string path = [] {
    scenarios::ScenarioOptions options{.name = "fleet-like", .output = dir.file("fleet.tape")};
    options.sets = {"events=3M"};
    if (!scenarios::write_scenario(options).ok()) std::abort();
    return options.output;
  }();
  return path;
}

std::vector<std::string> tapes() {
  std::vector<std::string> paths;
  for (const char* const name : {"redis", "python", "compiler"}) {
    paths.push_back(tests::golden_path(std::string("../../docs/questions/") + name + ".tape"));
  }
  paths.push_back(fleet_tape());
  if (const char* const more = std::getenv("HEAPTAPE_BENCH_TAPE")) paths.emplace_back(more);
  return paths;
}

schema::TapeReader open(const std::string& path) {
  auto tape = schema::TapeReader::open(path);
  if (!tape.ok()) std::abort();
  return std::move(*tape);
}

void BM_Replay(benchmark::State& state, const std::string& path, const std::string& spec) {
  for (auto _ : state) {
    auto tape = open(path);
    const replayer::ReplayOptions options{.specs = {*allocators::parse_spec(spec)}, .samples = 1};
    if (!replayer::replay(tape, options, nullptr).ok()) std::abort();
  }
}

// At the end: the moment needs no search.
void BM_Explain(benchmark::State& state, const std::string& path, const std::string& spec,
                const std::string& at) {
  for (auto _ : state) {
    auto tape = open(path);
    replayer::ExplainOptions options;
    options.spec = *allocators::parse_spec(spec);
    options.at = *replayer::parse_moment(at);
    auto explained = replayer::find_explained(tape, options, nullptr);
    const auto explanation = replayer::explain(tape, options, std::move(*explained), nullptr);
    if (!explanation.ok()) std::abort();
    benchmark::DoNotOptimize(replayer::explanation_text(tape, *explanation, {}, nullptr));
  }
}

void BM_FindMoments(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    auto tape = open(path);
    if (!replayer::find_moments(tape, UINT64_MAX, nullptr).ok()) std::abort();
  }
}

std::string short_name(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

void add_benchmarks() {
  for (const std::string& path : tapes()) {
    const std::string name = short_name(path);
    const auto add = [](const std::string& title, auto function) {
      benchmark::RegisterBenchmark(title.c_str(), function)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    };
    for (const char* const spec :
         {"model:first-fit", "model:foresight:placing=boxes", "model:foresight"}) {
      add(name + "/" + spec + "/replay",
          [path, spec](benchmark::State& state) { BM_Replay(state, path, spec); });
    }
    for (const char* const spec : {"glibc", "jemalloc", "model:ptmalloc"}) {
      add(name + "/" + spec + "/replay",
          [path, spec](benchmark::State& state) { BM_Replay(state, path, spec); });
      add(name + "/" + spec + "/explain end",
          [path, spec](benchmark::State& state) { BM_Explain(state, path, spec, "end"); });
      add(name + "/" + spec + "/explain exit",
          [path, spec](benchmark::State& state) { BM_Explain(state, path, spec, "exit"); });
    }
    add(name + "/find moments", [path](benchmark::State& state) { BM_FindMoments(state, path); });
  }
}

}  // namespace
}  // namespace heaptape

int main(int argc, char** argv) {
  heaptape::add_benchmarks();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
