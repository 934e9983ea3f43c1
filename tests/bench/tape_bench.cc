// What a tape costs per event: to encode, to write (with compression), to read.
#include <benchmark/benchmark.h>

#include "schema/tape/event_encoder.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

constexpr size_t kEvents = 1 << 20;

// Half mallocs and half frees of random slots: the hardest kind of tape to predict.
const std::vector<Event>& random_events() {
  static const std::vector<Event> events = [] {
    tests::Random random(1);
    return tests::plausible_events(random, kEvents);
  }();
  return events;
}

// A loop that frees what it just got: the easiest.
const std::vector<Event>& repetitive_events() {
  static const std::vector<Event> events = [] {
    std::vector<Event> list;
    for (size_t i = 0; i < kEvents / 2; ++i) {
      const uint64_t address = 0x5000 + i % 100 * 64;
      list.push_back(tests::malloc_event(48, address));
      list.push_back(tests::free_event(address));
    }
    return list;
  }();
  return events;
}

constexpr const char* kRedis = HEAPTAPE_QUESTIONS_DIR "/redis.tape";
constexpr const char* kCompiler = HEAPTAPE_QUESTIONS_DIR "/compiler.tape";

std::vector<Event> events_of(const std::string& path) {
  auto reader = TapeReader::open(path);
  return tests::read_events(*reader);
}

void set_per_event(benchmark::State& state, size_t events) {
  state.counters["ns_per_event"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(events) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The loop over the events and nothing else.
void BM_Baseline(benchmark::State& state) {
  for (auto _ : state) {
    for (const Event& event : random_events()) {
      uint64_t address = event.address;
      benchmark::DoNotOptimize(address);
    }
  }
  set_per_event(state, kEvents);
}
BENCHMARK(BM_Baseline);

void begin_chunk(EventEncoder& encoder, Effort effort) {
  EventColumns chunk = encoder.take();
  chunk.clear();
  encoder.recycle(std::move(chunk));
  encoder.set_size_classes(SizeClasses::kChunks);
  encoder.set_effort(effort);
}

void encode(benchmark::State& state, const std::vector<Event>& events,
            Effort effort = Effort::kFull) {
  EventEncoder encoder;
  encoder.set_unit_log2(3);
  begin_chunk(encoder, effort);
  for (auto _ : state) {
    for (std::span<const Event> left = events; !left.empty();) {
      if (encoder.full()) begin_chunk(encoder, effort);
      const size_t count = std::min<size_t>({left.size(), encoder.room(), 1024});
      encoder.append(left.first(count), nullptr);
      left = left.subspan(count);
    }
  }
  set_per_event(state, events.size());
}
void BM_EncodeRandom(benchmark::State& state) {
  encode(state, random_events());
}
void BM_EncodeRandomWithLowEffort(benchmark::State& state) {
  encode(state, random_events(), Effort::kLow);
}
void BM_EncodeRepetitive(benchmark::State& state) {
  encode(state, repetitive_events());
}
void BM_EncodeRedis(benchmark::State& state) {
  encode(state, events_of(kRedis));
}
void BM_EncodeCompiler(benchmark::State& state) {
  encode(state, events_of(kCompiler));
}
BENCHMARK(BM_EncodeRandom);
BENCHMARK(BM_EncodeRandomWithLowEffort);
BENCHMARK(BM_EncodeRepetitive);
BENCHMARK(BM_EncodeRedis);
BENCHMARK(BM_EncodeCompiler);

void write(benchmark::State& state, const std::vector<Event>& events,
           const std::optional<KeepLast>& keep = {}) {
  uint64_t bytes = 0;
  for (auto _ : state) {
    auto writer = TapeWriter::create("/dev/null", tests::sample_header());
    if (keep) (*writer)->keep_last(*keep);
    (*writer)->encoder().append(events, nullptr);
    (void)(*writer)->finish({});
    bytes = (*writer)->bytes();
  }
  set_per_event(state, events.size());
  state.counters["bytes_per_event"] =
      static_cast<double>(bytes) / static_cast<double>(events.size());
}
void BM_WriteRandom(benchmark::State& state) {
  write(state, random_events());
}
void BM_WriteRepetitive(benchmark::State& state) {
  write(state, repetitive_events());
}
void BM_WriteRedis(benchmark::State& state) {
  write(state, events_of(kRedis));
}
void BM_WriteCompiler(benchmark::State& state) {
  write(state, events_of(kCompiler));
}
// A tape of the last calls only: each chunk that comes drops one.
void BM_KeepLastRandom(benchmark::State& state) {
  write(state, random_events(), KeepLast{.time_ns = 0});
}
void BM_KeepLastRepetitive(benchmark::State& state) {
  write(state, repetitive_events(), KeepLast{.time_ns = 0});
}
BENCHMARK(BM_KeepLastRandom);
BENCHMARK(BM_KeepLastRepetitive);
BENCHMARK(BM_WriteRandom);
BENCHMARK(BM_WriteRepetitive);
BENCHMARK(BM_WriteRedis);
BENCHMARK(BM_WriteCompiler);

void read(benchmark::State& state, const std::string& path) {
  auto reader = TapeReader::open(path);
  EventBatch batch;
  for (auto _ : state) {
    (void)reader->seek(0);
    do {
      (void)reader->read(batch, 1 << 14);
    } while (!batch.events.empty());
  }
  set_per_event(state, reader->events());
}
void BM_ReadRandom(benchmark::State& state) {
  tests::TempDir dir;
  tests::write_tape(dir.file("t"), random_events());
  read(state, dir.file("t"));
}
void BM_ReadRedis(benchmark::State& state) {
  read(state, kRedis);
}
void BM_ReadCompiler(benchmark::State& state) {
  read(state, kCompiler);
}
BENCHMARK(BM_ReadRandom);
BENCHMARK(BM_ReadRedis);
BENCHMARK(BM_ReadCompiler);

}  // namespace
}  // namespace heaptape::schema

BENCHMARK_MAIN();
