// What models cost per event, with the loop of their backend around them. The null baseline makes
// the ops and no calls.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "allocators/models/model_backend.h"
#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "allocators/models/runs/runs_model.h"
#include "tests/bench/random_slots.h"

namespace heaptape::allocators {
namespace {

constexpr size_t kBatchOps = 1 << 16;

// Slots and the largest size are the arguments.
void take_arguments(benchmark::internal::Benchmark* bench) {
  bench->Args({1000, 1000})->Args({100000, 200})->Args({100000, 1000})->Args({10000, 100000});
}

template <typename Model>
void BM_RandomSlots(benchmark::State& state) {
  tests::RandomSlots work(static_cast<uint32_t>(state.range(0)),
                          static_cast<uint64_t>(state.range(1)), kBatchOps);
  ModelBackend<Model> backend{base::Values(Model::parameters())};
  BatchResult result;
  uint64_t elapsed_ns = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const ReplayBatch batch{0, work.slots(), work.next_batch(), {}, {}};
    state.ResumeTiming();
    if (!backend.submit(batch).ok()) std::abort();
    if (!backend.collect(result).ok()) std::abort();
    elapsed_ns += result.elapsed_ns;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatchOps));
  state.counters["ns_per_event"] =
      static_cast<double>(elapsed_ns) / static_cast<double>(state.iterations() * kBatchOps);
}
BENCHMARK(BM_RandomSlots<PtmallocModel>)->Apply(take_arguments);
BENCHMARK(BM_RandomSlots<RunsModel>)->Apply(take_arguments);

void BM_Baseline(benchmark::State& state) {
  tests::RandomSlots work(100000, 1000, kBatchOps);
  const std::vector<ReplayOp>& ops = work.next_batch();
  for (auto _ : state) {
    for (const ReplayOp& op : ops) {
      uint32_t slot = op.slot;
      benchmark::DoNotOptimize(slot);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatchOps));
}
BENCHMARK(BM_Baseline);

}  // namespace
}  // namespace heaptape::allocators

BENCHMARK_MAIN();
