// What the checks of a plug-in's blocks cost per event, in a heap of so many blocks at random. The
// baseline is the same plug-in, believed.
#include <benchmark/benchmark.h>

#include <string>

#include "allocators/catalog/backend_spec.h"
#include "tests/bench/random_slots.h"

namespace heaptape::allocators {
namespace {

constexpr size_t kBatchOps = 1 << 14;
constexpr uint64_t kLargestBytes = 1024;

void random_slots(benchmark::State& state, const char* option) {
  const auto slots = static_cast<uint32_t>(state.range(0));
  const auto spec = parse_spec(std::string("plugin:" HEAPTAPE_EXAMPLE_PLUGIN) + option);
  auto backend = spec->make({});
  tests::RandomSlots source(slots, kLargestBytes, kBatchOps);
  BatchResult result;
  const auto run = [&] {
    const ReplayBatch batch{0, slots, source.next_batch(), {}, {}};
    if (!backend->submit(batch).ok()) state.SkipWithError("a fault");
    static_cast<void>(backend->collect(result));
  };
  for (size_t done = 0; done < 4 * slots; done += kBatchOps) run();
  for (auto _ : state) {
    run();
    state.SetIterationTime(static_cast<double>(result.elapsed_ns) * 1e-9);
  }
  using benchmark::Counter;
  state.counters["per_event"] =
      Counter(kBatchOps, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

BENCHMARK_CAPTURE(random_slots, believed, ":check=off")
    ->RangeMultiplier(16)
    ->Range(1 << 12, 1 << 20)
    ->UseManualTime();
BENCHMARK_CAPTURE(random_slots, checked, "")
    ->RangeMultiplier(16)
    ->Range(1 << 12, 1 << 20)
    ->UseManualTime();

}  // namespace
}  // namespace heaptape::allocators

BENCHMARK_MAIN();
