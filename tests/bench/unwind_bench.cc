// What it costs to compile the call frame information of a module, which programs wait for, and to
// find the rule of an address in it.
#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "recorder/unwind/unwind_compiler.h"
#include "tests/support/modules.h"
#include "tests/support/tapes.h"

namespace heaptape::recorder {
namespace {

base::Descriptor open_file(const std::string& path) {
  return base::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

void BM_Compile(benchmark::State& state, const std::string& path) {
  uint64_t table_bytes = 0;
  uint64_t rows = 0;
  for (auto _ : state) {
    const auto tables = compile_unwind_tables(open_file(path));
    HEAPTAPE_CHECK(tables.ok());
    rows = tables->counts.rows;
    table_bytes = 0;
    for (const CompiledTable& table : tables->tables) table_bytes += table.table().bytes;
  }
  state.counters["table_MB"] = static_cast<double>(table_bytes) / 1e6;
  state.counters["rows"] = static_cast<double>(rows);
}

// Addresses at random: each look is a cache miss or two, as that of a walk often is.
void BM_FindRule(benchmark::State& state, const std::string& path) {
  constexpr size_t kAddresses = 1 << 16;
  const auto tables = compile_unwind_tables(open_file(path));
  HEAPTAPE_CHECK(tables.ok() && !tables->tables.empty());
  const CompiledTable& code = tables->tables.front();
  tests::Random random(1);
  std::vector<uint64_t> offsets(kAddresses);
  for (uint64_t& offset : offsets) offset = random.below(code.segment.bytes);
  for (auto _ : state) {
    for (const uint64_t offset : offsets) {
      benchmark::DoNotOptimize(find_rule(code.table(), offset));
    }
  }
  using benchmark::Counter;
  state.counters["per_address"] =
      Counter(kAddresses, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void add_file(const std::string& name, const std::string& path) {
  if (!open_file(path)) return;
  benchmark::RegisterBenchmark(("BM_Compile/" + name).c_str(), BM_Compile, path)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(("BM_FindRule/" + name).c_str(), BM_FindRule, path)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace heaptape::recorder

int main(int argc, char** argv) {
  using heaptape::tests::loaded_module;
  heaptape::recorder::add_file("libc", loaded_module("libc.so"));
  heaptape::recorder::add_file("libstdc++", loaded_module("libstdc++.so"));
  heaptape::recorder::add_file("python3", "/usr/bin/python3");
  heaptape::recorder::add_file("cc1plus", heaptape::tests::compiler_proper());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
