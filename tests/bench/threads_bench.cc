// What it costs to replay calls on the threads that made them: merged into one thread, in the order
// of the tape with borrowed thread pointers, and in lock step. Eight threads take turns at random,
// which is the worst case: nearly each call is another thread's. Merged is the baseline.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "allocators/native/native_backend.h"
#include "tests/bench/random_slots.h"
#include "tests/support/programs.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

constexpr size_t kBatchOps = 1 << 14;
constexpr uint32_t kThreads = 8;
const char* const kLibraries[] = {"", "libjemalloc.so.2", tests::mimalloc_library(),
                                  "libtcmalloc_minimal.so.4"};
constexpr const char* kNames[] = {"glibc", "jemalloc", "mimalloc", "tcmalloc"};

// Ops of threads at random.
std::vector<ReplayOp> with_threads(std::vector<ReplayOp> ops) {
  static tests::Random random(1);
  for (ReplayOp& op : ops) op.thread = static_cast<uint16_t>(random.below(kThreads));
  return ops;
}

void BM_Threads(benchmark::State& state, Threads threads) {
  NativeOptions options{.name = kNames[state.range(0)], .library = kLibraries[state.range(0)]};
  options.threads = threads;
  NativeBackend backend(options);
  if (!backend.start().ok()) {
    state.SkipWithError("the allocator is not installed");
    return;
  }
  tests::RandomSlots work(10000, 1000, kBatchOps);
  BatchResult result;
  uint64_t elapsed_ns = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const auto ops = with_threads(work.next_batch());
    state.ResumeTiming();
    if (!backend.submit({0, work.slots(), ops, {}, {}}).ok()) std::abort();
    if (!backend.collect(result).ok()) std::abort();
    elapsed_ns += result.elapsed_ns;
  }
  state.SetLabel(kNames[state.range(0)]);
  state.counters["ns_per_event"] =
      static_cast<double>(elapsed_ns) / static_cast<double>(state.iterations() * kBatchOps);
}
BENCHMARK_CAPTURE(BM_Threads, Merged, Threads::kMerged)->DenseRange(0, 3)->UseRealTime();
BENCHMARK_CAPTURE(BM_Threads, Ordered, Threads::kOrdered)->DenseRange(0, 3)->UseRealTime();
BENCHMARK_CAPTURE(BM_Threads, LockStep, Threads::kLockStep)->DenseRange(0, 3)->UseRealTime();

}  // namespace
}  // namespace heaptape::allocators

BENCHMARK_MAIN();
