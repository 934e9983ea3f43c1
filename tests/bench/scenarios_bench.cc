// Scenarios on allocators: what each run counts, and how fast it is replayed. One line of kRuns is
// one benchmark, SCENARIO/SPEC; with --benchmark_counters_tabular=true the counters are columns.
#include <benchmark/benchmark.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "scenarios/scenario.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

struct Run {
  const char* scenario;
  std::vector<std::string> sets;
  const char* spec;
  std::vector<const char*> counters;  // of the model, by name
};

const std::vector<Run> kRuns = {
    {"cvs-pagealign", {}, "model:pagealign-list", {"listNodesSkipped", "pagesMapped"}},
    {"cvs-pagealign", {}, "model:pagealign-hash", {"hashProbes", "hashMoves", "hashBuckets"}},
    {"cvs-pagealign", {}, "model:pagealign-malloc", {"listNodesSkipped"}},
    {"cvs-pagealign", {}, "model:pagealign-memalign", {}},
    {"cvs-pagealign", {"order=random"}, "model:pagealign-list", {"listNodesSkipped"}},
    {"cvs-pagealign", {"drain=window"}, "model:pagealign-list", {"listNodesSkipped"}},
    {"openbsd-cvs", {}, "model:pagealign-list", {"listNodesSkipped", "pagesMapped"}},
    {"pagealign-bench", {}, "model:pagealign-list", {"pagesRequested", "pagesMapped"}},
    {"pagealign-bench", {}, "model:pagealign-malloc", {"pagesRequested"}},
    {"pagealign-bench", {}, "model:pagealign-memalign", {"pagesRequested"}},
    {"pagealign-bench", {"via=malloc"}, "model:ptmalloc", {"inUseBytes"}},
    {"pagealign-bench", {"via=malloc"}, "glibc", {}},
    {"pagealign-bench", {"via=memalign"}, "glibc", {}},
    {"pagealign-bench", {"via=mmap"}, "glibc", {}},
    {"lmdb-synthetic", {"ids=2M", "n=33"}, "model:lmdb", {"searchCmps", "recordsLoaded"}},
    {"lmdb-synthetic", {"ids=1M", "n=20"}, "model:lmdb", {"searchCmps", "recordsLoaded"}},
    {"lmdb-synthetic", {"ids=1M", "n=20"}, "model:lmdb:variant=f1", {"searchCmps"}},
    {"calloc-loop", {}, "model:macos-large", {"bytesZeroed"}},
    {"calloc-loop", {}, "model:ptmalloc", {"bytesZeroed"}},
    {"sliver-pin", {}, "model:ptmalloc", {"arenaBytes"}},
    {"sliver-pin", {}, "glibc", {}},
    {"manifest-patching", {}, "model:ptmalloc", {"bytesCopied"}},
    {"manifest-patching", {}, "model:runs", {"bytesCopied"}},
    {"manifest-patching", {}, "glibc", {}},
    {"fleet-like", {}, "model:ptmalloc", {"tcacheHits"}},
    {"fleet-like", {}, "model:slabs", {"tcacheHits"}},
    {"fleet-like", {}, "glibc", {}},
};

std::string name_of(const Run& run) {
  std::string name = run.scenario;
  for (const std::string& set : run.sets) name += " " + set;
  return name + "/" + run.spec;
}

// The tape of a scenario, written once.
const std::string& tape_of(const Run& run) {
  static const tests::TempDir dir;
  static std::map<std::string, std::string> paths;
  std::string key = run.scenario;
  for (const std::string& set : run.sets) key += "," + set;
  std::string& path = paths[key];
  if (path.empty()) {
    path = dir.file(key);
    const auto summary =
        scenarios::write_scenario({.name = run.scenario, .sets = run.sets, .output = path});
    if (!summary.ok()) path.clear();
  }
  return path;
}

void report(benchmark::State& state, const Run& run, const replayer::RunMetrics& metrics) {
  const auto events = static_cast<double>(metrics.accounting.recorded);
  state.SetItemsProcessed(state.iterations() *
                          static_cast<int64_t>(metrics.accounting.recorded));  // events a second
  state.counters["ns_per_event"] = static_cast<double>(metrics.replay_ns) / events;
  state.counters["peak_pages"] = static_cast<double>(metrics.committed_bytes_peak.value) / 4096;
  for (const char* name : run.counters) {
    for (const allocators::Counter& counter : metrics.counters) {
      if (counter.name == name) state.counters[name] = static_cast<double>(counter.value);
    }
  }
}

void replay_run(benchmark::State& state, const Run& run) {
  const auto spec = allocators::parse_spec(run.spec);
  if (!spec.ok()) {
    state.SkipWithError(spec.error().message.c_str());
    return;
  }
  replayer::ReplayOptions options;
  options.specs = {*spec};
  options.touch = allocators::Touch::kNone;
  replayer::RunMetrics metrics;
  for (auto _ : state) {
    auto tape = schema::TapeReader::open(tape_of(run));  // a replay reads it to its end
    if (!tape.ok()) {
      state.SkipWithError(tape.error().message.c_str());
      return;
    }
    auto runs = replayer::replay(*tape, options, {});
    if (!runs.ok()) {
      state.SkipWithError(runs.error().message.c_str());
      return;
    }
    metrics = std::move(runs->at(0).metrics);
  }
  report(state, run, metrics);
}

}  // namespace
}  // namespace heaptape

int main(int argc, char** argv) {
  for (const heaptape::Run& run : heaptape::kRuns) {
    benchmark::RegisterBenchmark(heaptape::name_of(run).c_str(), heaptape::replay_run, run)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
