// What the checks of a plug-in's blocks cost per event, in a heap of so many blocks at random. The
// baseline is the same plug-in, believed.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "allocators/plugin/plugin_backend.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

constexpr size_t kBatchOps = 1 << 14;

// Mallocs and frees of random slots, about half of which are in use.
class RandomOps {
 public:
  explicit RandomOps(uint32_t slots) : in_use_(slots) {}

  void next_batch(std::vector<ReplayOp>& ops) {
    for (ReplayOp& op : ops) {
      op.slot = static_cast<uint32_t>(random_.below(in_use_.size()));
      op.kind = in_use_[op.slot] ? ReplayKind::kFree : ReplayKind::kMalloc;
      op.size = 16 + random_.below(1024);
      in_use_[op.slot] = !in_use_[op.slot];
    }
  }

 private:
  tests::Random random_{1};
  std::vector<bool> in_use_;
};

void random_slots(benchmark::State& state, const char* option) {
  const auto slots = static_cast<uint32_t>(state.range(0));
  auto backend = make_plugin_backend(std::string("plugin:" HEAPTAPE_EXAMPLE_PLUGIN) + option);
  RandomOps source(slots);
  std::vector<ReplayOp> ops(kBatchOps);
  BatchResult result;
  const auto run = [&] {
    source.next_batch(ops);
    if (!(*backend)->submit({0, slots, ops, {}, {}}).ok()) state.SkipWithError("a fault");
    static_cast<void>((*backend)->collect(result));
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

BENCHMARK_CAPTURE(random_slots, believed, ":check=0")
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
