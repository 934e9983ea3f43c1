// What the collector spends on an event: in the draining thread, which reads it off a ring, merges
// and encodes, and in that thread and the writers together, who compress. And what a sample of a
// process takes, beside what the kernel's own sums in smaps would.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/output_file.h"
#include "recorder/collector/process_sampler.h"
#include "recorder/collector/ring_merge.h"
#include "recorder/ring/record.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"

namespace heaptape::recorder {
namespace {

// Producers without threads: write records of random mallocs and frees as fast as they are drained.
class FakeSession {
 public:
  explicit FakeSession(uint32_t rings)
      : blocks_(rings),
        base_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    HEAPTAPE_CHECK(base_ != MAP_FAILED);
  }
  ~FakeSession() { munmap(base_, kBytes); }

  SessionView view() const {
    return {board_, &lobby_, {static_cast<char*>(base_), 0, kRings, PoolView::Mapped::kWhole}};
  }

  // From now on every call is a malloc.
  void leave_frees_out() { frees_are_unseen_ = true; }

  // Appends records for one malloc or free of a random slot, each in any of the rings, until one
  // holds `words`.
  void fill(uint32_t rings, uint64_t words, bool stamped) {
    for (;;) {
      const auto index = static_cast<uint32_t>(random_.below(rings));
      RingHeader& ring = view().ring(index);
      uint64_t head = ring.head.load(std::memory_order_relaxed);
      if (head + 2 * kMaxRecordWords >= ring.tail.load(std::memory_order_relaxed) + words) return;
      const uint64_t segment_end = (head / kSegmentWords + 1) * kSegmentWords;
      if (segment_end - head < kMaxRecordWords) {
        put(index, head, kSegmentEndOp);
        head = segment_end;
      } else {
        put_record(index, head, stamped);
      }
      ring.head.store(head, std::memory_order_relaxed);
    }
  }

 private:
  void put(uint32_t ring, uint64_t position, uint64_t word) {
    view().words(ring)[position % kRingWords] = word;
  }
  void put_record(uint32_t ring, uint64_t& head, bool stamped) {
    const uint64_t slot = random_.below(4096);
    uint64_t& address = blocks_[ring][slot];
    const bool is_free = address != 0;
    const uint64_t block = is_free ? address : 0x100000000000 + (ring * 4096 + slot) * 1056;
    put(ring, head++, first_word(is_free ? Op::kFree : Op::kMalloc, block, stamped));
    if (stamped) put(ring, head++, ++stamp_);
    if (!is_free) put(ring, head++, 16 + random_.below(1024));
    address = is_free || frees_are_unseen_ ? 0 : block;
  }

  static constexpr uint64_t kBytes = pool_bytes(kRings);

  tests::Random random_{1};
  uint64_t stamp_ = 0;
  bool frees_are_unseen_ = false;
  std::vector<std::array<uint64_t, 4096>> blocks_;  // by ring
  mutable Board board_{};
  mutable Lobby lobby_{};
  void* base_;
};

// Takes chunks for nothing: what is left is the work of the draining thread.
class NoWriter : public schema::ChunkSink {
 public:
  schema::EventColumns write(schema::EventColumns chunk) override {
    choice_.decide(chunk.number, schema::SizeClasses::kChunks);
    chunk.clear();
    return chunk;
  }
  void save(schema::EventPart) override {}
  std::optional<schema::SizeClasses> size_classes(uint64_t chunk) const override {
    return choice_.of(chunk);
  }

 private:
  schema::SizeClassChoice choice_{schema::SizeClasses::kChunks};
};

enum class Sizes : bool { kNo, kCounted };
enum class Frees : bool { kAll, kUnseen };

void drain(benchmark::State& state, schema::TapeEncoder& tape, uint32_t rings, bool stamped,
           Sizes sizes = Sizes::kNo, Frees frees = Frees::kAll) {
  FakeSession session(rings);
  if (frees == Frees::kUnseen) session.leave_frees_out();
  Backlog backlog;
  RingMerge merge(backlog, session.view(), 0, tape, 0);
  if (sizes == Sizes::kCounted) merge.count_sizes();
  for (uint32_t ring = 0; ring < rings; ++ring) merge.add_ring(ring);
  uint64_t events = 0;
  for (auto _ : state) {
    session.fill(rings, std::max(kRingWords / 2 / rings, 64u), stamped);
    const auto begin = std::chrono::steady_clock::now();
    events += merge.drain(RingMerge::kEverything, 1);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(elapsed.count());
  }
  state.counters["ns_per_event"] =
      benchmark::Counter(static_cast<double>(events) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void drain(benchmark::State& state, uint32_t rings, bool stamped, Sizes sizes = Sizes::kNo,
           Frees frees = Frees::kAll) {
  NoWriter writer;
  schema::TapeEncoder tape(writer);
  drain(state, tape, rings, stamped, sizes, frees);
}

void BM_DrainOneThread(benchmark::State& state) {
  drain(state, 1, false);
}
void BM_DrainOneStampedThread(benchmark::State& state) {
  drain(state, 1, true);
}
void BM_DrainTwoThreads(benchmark::State& state) {
  drain(state, 2, true);
}
void BM_DrainEightThreads(benchmark::State& state) {
  drain(state, 8, true);
}
void BM_DrainThousandThreads(benchmark::State& state) {
  drain(state, 1000, true);
}
// Each malloc hands out a block that seems to be live, as where no hook sees the frees.
void BM_DrainTwoThreadsInDoubt(benchmark::State& state) {
  drain(state, 2, true, Sizes::kNo, Frees::kUnseen);
}
// As for `record --live`.
void BM_DrainOneThreadLive(benchmark::State& state) {
  drain(state, 1, false, Sizes::kCounted);
}
// With the work of both threads.
void BM_DrainAndWriteOneThread(benchmark::State& state) {
  auto writer = schema::TapeWriter::create("/dev/null", tests::sample_header());
  drain(state, (*writer)->encoder(), 1, false);
}

// Resident memory of our own in one mapping, without huge pages.
class OwnMemory {
 public:
  explicit OwnMemory(size_t bytes)
      : bytes_(bytes),
        base_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    HEAPTAPE_CHECK(base_ != MAP_FAILED);
    madvise(base_, bytes, MADV_NOHUGEPAGE);
    std::memset(base_, 1, bytes);
  }
  ~OwnMemory() { munmap(base_, bytes_); }

 private:
  size_t bytes_;
  void* base_;
};

// range(0): MiB.
void BM_SampleWithPages(benchmark::State& state) {
  const OwnMemory memory(static_cast<size_t>(state.range(0)) << 20);
  const auto pid = static_cast<uint32_t>(getpid());
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_proc_texts(pid, nullptr, WithPages::kYes));
  }
}
void BM_SampleWithoutPages(benchmark::State& state) {
  const OwnMemory memory(static_cast<size_t>(state.range(0)) << 20);
  const auto pid = static_cast<uint32_t>(getpid());
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_proc_texts(pid, nullptr, WithPages::kNo));
  }
}
// range(0): mappings of a page each, which the kernel cannot join. The whole sample.
void BM_SampleOfManyMappings(benchmark::State& state) {
  std::vector<void*> mappings;
  MemoryOwners owners;
  for (int64_t i = 0; i < state.range(0); ++i) {
    const int protection = i % 2 == 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    mappings.push_back(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    HEAPTAPE_CHECK(mappings.back() != MAP_FAILED);
    *static_cast<volatile char*>(mappings.back()) = 1;
    mprotect(mappings.back(), 4096, protection);
    const auto begin = reinterpret_cast<uint64_t>(mappings.back());
    owners.note({.range = {begin, begin + 4096}, .caller = 1});
  }
  const auto pid = static_cast<uint32_t>(getpid());
  const LiveSet live{};
  for (auto _ : state) {
    const auto texts = read_proc_texts(pid, nullptr, WithPages::kYes);
    owners.name_callers(texts->code_owners);
    benchmark::DoNotOptimize(make_sample(*texts, live, nullptr, {}, owners));
  }
  for (void* const mapping : mappings) munmap(mapping, 4096);
}
void BM_ReadSmaps(benchmark::State& state) {
  const OwnMemory memory(static_cast<size_t>(state.range(0)) << 20);
  for (auto _ : state) {
    benchmark::DoNotOptimize(base::read_file("/proc/self/smaps", 64 << 20));
  }
}
BENCHMARK(BM_SampleWithPages)->Arg(16)->Arg(256)->Arg(2048)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_SampleWithoutPages)->Arg(16)->Arg(256)->Arg(2048)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_SampleOfManyMappings)->Arg(100)->Arg(1000)->Arg(60'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_ReadSmaps)->Arg(16)->Arg(256)->Arg(2048)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DrainOneThread)->UseManualTime();
BENCHMARK(BM_DrainOneThreadLive)->UseManualTime();
BENCHMARK(BM_DrainOneStampedThread)->UseManualTime();
BENCHMARK(BM_DrainTwoThreads)->UseManualTime();
BENCHMARK(BM_DrainEightThreads)->UseManualTime();
BENCHMARK(BM_DrainThousandThreads)->UseManualTime();
BENCHMARK(BM_DrainTwoThreadsInDoubt)->UseManualTime();
BENCHMARK(BM_DrainAndWriteOneThread)->UseManualTime();

}  // namespace
}  // namespace heaptape::recorder

BENCHMARK_MAIN();
