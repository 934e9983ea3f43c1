// What the heap map costs per event. The null baseline runs the same loop over the same events
// without a map.
#include <benchmark/benchmark.h>

#include <utility>
#include <vector>

#include "replayer/heap_map/heap_map.h"
#include "tests/support/sizes.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kHeapBegin = 0x555555559000;
using tests::kMiB;

struct BlockEvent {
  uint64_t address;
  uint64_t usable_bytes;
  bool is_place;
};
using Events = std::vector<BlockEvent>;

// A full heap, block after block, as a malloc with 8-byte headers places them.
Events full_heap(uint64_t heap_bytes, uint64_t min_bytes, uint64_t max_bytes) {
  tests::Random random(1);
  Events blocks;
  for (uint64_t at = kHeapBegin; at < kHeapBegin + heap_bytes;) {
    const uint64_t bytes = (min_bytes + random.below(max_bytes - min_bytes + 1)) / 16 * 16;
    blocks.push_back({at + 16, bytes - 8, true});
    at += bytes;
  }
  return blocks;
}

// Frees one block anywhere, then places one where any of the `free_blocks` free ones was, over and
// over. The second half undoes the first, so that it can be repeated.
Events churn(const Events& heap, size_t count, size_t free_blocks) {
  tests::Random random(2);
  Events live = heap;
  Events free;
  Events events;
  const auto move_one = [&](Events& from, Events& to, bool is_place) {
    std::swap(from[random.below(from.size())], from.back());
    to.push_back(from.back());
    from.pop_back();
    events.push_back(to.back());
    events.back().is_place = is_place;
  };
  while (free.size() + 1 < free_blocks) move_one(live, free, false);
  while (events.size() < count / 2) {
    move_one(live, free, false);
    move_one(free, live, true);
  }
  for (size_t i = events.size(); i-- > 0;) {
    events.push_back(events[i]);
    events.back().is_place = !events.back().is_place;
  }
  return events;
}

void fill(HeapMap& map, const Events& heap) {
  const uint64_t end = heap.back().address + heap.back().usable_bytes + 4096;
  map.commit({kHeapBegin, end});
  for (const BlockEvent& block : heap) map.place(block.address, block.usable_bytes);
}

void apply(HeapMap& map, const BlockEvent& event) {
  if (event.is_place) {
    map.place(event.address, event.usable_bytes);
  } else {
    map.remove(event.address, event.usable_bytes);
  }
}

// Calls each(event) for one event per iteration.
template <typename Each>
void repeat(benchmark::State& state, const Events& events, Each each) {
  size_t next = 0;
  for (auto _ : state) {
    const BlockEvent& event = events[next];
    next = next + 1 == events.size() ? 0 : next + 1;
    benchmark::DoNotOptimize(event.address + event.usable_bytes + event.is_place);
    each(event);
  }
}

void run_churn(benchmark::State& state, const Events& heap, size_t count) {
  const Events events = churn(heap, count, static_cast<size_t>(state.range(0)));
  HeapMap map(4, 32);
  fill(map, heap);
  repeat(state, events, [&map](const BlockEvent& event) { apply(map, event); });
}

void BM_Null(benchmark::State& state) {
  const Events heap = full_heap(100 * kMiB, 32, 160);
  repeat(state, churn(heap, 1 << 21, 10000), [](const BlockEvent&) {});
}
BENCHMARK(BM_Null);

// Half the iterations are remove(), half place(). With one free block, each place() follows the
// remove() of the same block; with many, every event is somewhere else in the heap.
void BM_SmallBlocks(benchmark::State& state) {
  const uint64_t heap_bytes = static_cast<uint64_t>(state.range(1)) * kMiB;
  run_churn(state, full_heap(heap_bytes, 32, 160), 1 << 21);
}
BENCHMARK(BM_SmallBlocks)
    ->ArgNames({"free", "MiB"})
    ->ArgsProduct({{1, 10000}, {25, 100}})
    ->Args({300000, 100});

void BM_MebibyteBlocks(benchmark::State& state) {
  run_churn(state, full_heap(4096 * kMiB, kMiB, kMiB), 1 << 14);
}
BENCHMARK(BM_MebibyteBlocks)->ArgName("free")->Arg(1000);

// A block in a region of its own, far from any other: commit, place, remove and decommit.
void BM_MappedBlock(benchmark::State& state) {
  HeapMap map(4, 32);
  fill(map, full_heap(kMiB, 32, 160));
  const uint64_t base = 0x7f0000000000;
  const auto regions = static_cast<uint64_t>(state.range(0));
  for (uint64_t i = 0; i < regions; ++i)
    map.commit({base + i * 4 * kMiB, base + i * 4 * kMiB + kMiB});
  const AddressRange region = {base + 2 * kMiB, base + 3 * kMiB};
  for (auto _ : state) {
    map.commit(region);
    map.place(region.begin + 16, kMiB - 32);
    map.remove(region.begin + 16, kMiB - 32);
    map.decommit(region);
  }
}
BENCHMARK(BM_MappedBlock)->ArgName("regions")->Arg(10)->Arg(30000);

// Blocks cut from one large hole, one after the other, then given back.
void BM_BlocksFromALargeHole(benchmark::State& state) {
  HeapMap map(4, 32);
  map.commit({kHeapBegin, kHeapBegin + 64 * kMiB});
  map.place(kHeapBegin + 16, 24);
  map.place(kHeapBegin + 32 * kMiB, 24);
  Events events;
  for (uint64_t i = 0; i < 10000; ++i) events.push_back({kHeapBegin + 48 + i * 64, 56, true});
  for (size_t i = events.size(); i-- > 0;) events.push_back({events[i].address, 56, false});
  repeat(state, events, [&map](const BlockEvent& event) { apply(map, event); });
}
BENCHMARK(BM_BlocksFromALargeHole);

// A string that grows and shrinks in place.
void BM_Resize(benchmark::State& state) {
  HeapMap map(4, 32);
  fill(map, full_heap(kMiB, 32, 160));
  const uint64_t address = kHeapBegin + 4 * kMiB;
  map.commit({kHeapBegin, kHeapBegin + 8 * kMiB});
  map.place(address + 2048, 24);
  map.place(address, 24);
  uint64_t usable_bytes = 24;
  for (auto _ : state) {
    const uint64_t grown = usable_bytes == 24 + 16 * 100 ? 24 : usable_bytes + 16;
    map.resize(address, usable_bytes, grown);
    usable_bytes = grown;
  }
}
BENCHMARK(BM_Resize);

// A heap of 100 MiB with every third block free.
void fill_with_holes(HeapMap& map) {
  const Events heap = full_heap(100 * kMiB, 32, 160);
  fill(map, heap);
  for (size_t i = 0; i < heap.size(); i += 3) map.remove(heap[i].address, heap[i].usable_bytes);
}

void BM_Holes(benchmark::State& state) {
  HeapMap map(4, 32);
  fill_with_holes(map);
  for (auto _ : state) benchmark::DoNotOptimize(map.holes());
}
BENCHMARK(BM_Holes);

void BM_ScanHoles(benchmark::State& state) {
  HeapMap map(4, 32);
  fill_with_holes(map);
  for (auto _ : state) benchmark::DoNotOptimize(map.scan_holes());
}
BENCHMARK(BM_ScanHoles)->Unit(benchmark::kMillisecond);

void BM_AbsentHoleBytes(benchmark::State& state) {
  HeapMap map(4, 32);
  fill_with_holes(map);
  std::vector<AddressRange> absent;  // every other page
  for (uint64_t at = kHeapBegin; at < kHeapBegin + 100 * kMiB; at += 8192) {
    absent.push_back({at, at + 4096});
  }
  for (auto _ : state) benchmark::DoNotOptimize(map.absent_hole_bytes(absent));
}
BENCHMARK(BM_AbsentHoleBytes)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heaptape::replayer

BENCHMARK_MAIN();
