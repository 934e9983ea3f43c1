// What importing costs an event, by format: 10 M events that an allocator could have seen.
#include <benchmark/benchmark.h>

#include "base/number_text.h"
#include "recorder/import/import_trace.h"
#include "recorder/import/trace_format.h"
#include "recorder/import/trace_input.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/trace_texts.h"

namespace heaptape::recorder {
namespace {

constexpr size_t kEvents = 10'000'000;

// Written once for all benchmarks of a format, and removed with the next format's.
class Trace {
 public:
  static const std::string& of(const std::string& format) {
    static Trace trace;
    if (trace.format_ != format) trace.write(format);
    return trace.path_;
  }

 private:
  // A million events over and over, each round on blocks of its own.
  void write(const std::string& format) {
    constexpr size_t kRound = 1'000'000;
    tests::Random random(1);
    std::vector<schema::Event> events;
    events.reserve(kEvents);
    for (uint64_t round = 0; events.size() < kEvents; ++round) {
      for (schema::Event event : tests::plausible_events(random, kRound)) {
        if (event.address != 0) event.address += round << 36;
        if (event.freed_address != 0) event.freed_address += round << 36;
        events.push_back(event);
      }
    }
    format_ = format;
    tests::write_bytes(path_, tests::trace_text(format, events));
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("trace");
  std::string format_;
};

// Half of all events put blocks there, the other half frees them in another order: five million
// live at once.
std::string many_live_trace() {
  constexpr uint64_t kBlocks = kEvents / 2;
  std::string text;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    text += base::format_text("1: malloc 0x%llx 40\n", 0x10000ULL + 48 * i);
  }
  for (uint64_t i = 0; i < kBlocks; ++i) {
    text += base::format_text("1: free 0x%llx\n", 0x10000ULL + 48 * (i * 2'654'435'761 % kBlocks));
  }
  return text;
}

void set_per_event(benchmark::State& state) {
  const auto events = static_cast<double>(state.iterations()) * static_cast<double>(kEvents);
  state.counters["Mevents_per_s"] = benchmark::Counter(events * 1e-6, benchmark::Counter::kIsRate);
}

// Reading the bytes, and nothing else.
void read_bytes(benchmark::State& state, const std::string& format) {
  const std::string& path = Trace::of(format);
  for (auto _ : state) {
    auto input = TraceInput::open(path);
    for (auto bytes = input->peek(TraceInput::kMaxLineBytes); !bytes.empty();
         bytes = input->peek(TraceInput::kMaxLineBytes)) {
      auto first = bytes[0];
      benchmark::DoNotOptimize(first);
      input->skip(bytes.size());
    }
  }
  set_per_event(state);
}

void import_all(benchmark::State& state, const std::string& format) {
  const std::string& path = Trace::of(format);
  const tests::TempDir dir;
  for (auto _ : state) {
    const auto result = import_trace({format, path, dir.file("tape")});
    if (!result.ok() || result->troubles.malformed != 0) state.SkipWithError("it failed");
  }
  set_per_event(state);
}

void import_many_live(benchmark::State& state) {
  const tests::TempDir dir;
  tests::write_bytes(dir.file("trace"), many_live_trace());
  for (auto _ : state) {
    const auto result = import_trace({"android", dir.file("trace"), dir.file("tape")});
    if (!result.ok() || result->summary.events != kEvents) state.SkipWithError("it failed");
  }
  set_per_event(state);
}

}  // namespace
}  // namespace heaptape::recorder

int main(int argc, char** argv) {
  using namespace heaptape::recorder;
  for (const TraceFormat& format : trace_formats()) {
    const std::string name = format.name;
    benchmark::RegisterBenchmark(("BM_Read/" + name).c_str(), read_bytes, name)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
    benchmark::RegisterBenchmark(("BM_Import/" + name).c_str(), import_all, name)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::RegisterBenchmark("BM_ImportManyLive", import_many_live)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
