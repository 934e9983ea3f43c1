// What the look at a program before its execution costs (recorder/program/program_check.h).
#include <benchmark/benchmark.h>

#include "base/check.h"
#include "recorder/program/program_check.h"

namespace heaptape::recorder {
namespace {

void check(benchmark::State& state, const char* path, Unrecorded expected) {
  Verdict verdict;
  for (auto _ : state) check_program({.path = path}, &verdict);
  HEAPTAPE_CHECK(verdict.reason == expected);
}

void BM_CheckTrue(benchmark::State& state) {
  check(state, "/bin/true", Unrecorded::kNone);
}
void BM_CheckBash(benchmark::State& state) {
  check(state, "/bin/bash", Unrecorded::kNone);
}
void BM_CheckStaticProgram(benchmark::State& state) {
  check(state, HEAPTAPE_STATIC_PROGRAM, Unrecorded::kStatic);
}
BENCHMARK(BM_CheckTrue)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_CheckBash)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_CheckStaticProgram)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace heaptape::recorder

BENCHMARK_MAIN();
