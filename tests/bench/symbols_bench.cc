// What symbols cost: places spread evenly over the code of a module that has debug information
// (this program) and of one that has the names of its functions alone (libstdc++).
#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "replayer/symbols/symbolizer.h"

namespace heaptape::replayer {
namespace {

// The mapping of this process that has the code at `address`.
schema::CodeMapping mapping_of(uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    schema::CodeMapping mapping;
    std::string permissions, device, inode;
    char dash = 0;
    std::istringstream words(line);
    words >> std::hex >> mapping.range.begin >> dash >> mapping.range.end >> permissions >>
        mapping.file_offset >> device >> inode >> mapping.path;
    if (mapping.range.begin <= address && address < mapping.range.end) return mapping;
  }
  return {};
}

// The argument: how many places.
void symbolize_code_at(benchmark::State& state, uint64_t address) {
  const schema::CodeMapping mapping = mapping_of(address);
  const auto count = static_cast<uint64_t>(state.range(0));
  schema::Stacks stacks;
  stacks.add_mapping(mapping);
  for (uint32_t i = 0; i < count; ++i) {
    const schema::Frame frame = {0, mapping.range.begin + 1 + mapping.range.bytes() / count * i};
    stacks.add_frames(i, {&frame, 1});
  }
  size_t source_frames = 0;
  for (auto _ : state) {
    source_frames = 0;
    const SymbolizedTape tape = symbolize(stacks, {});
    for (const CodePlace& place : tape.symbols.places()) source_frames += place.source.size();
  }
  state.counters["source_frames"] = static_cast<double>(source_frames);
}

void with_lines(benchmark::State& state) {
  symbolize_code_at(state, reinterpret_cast<uint64_t>(&symbolize));
}
BENCHMARK(with_lines)->Arg(1)->Arg(1000)->Arg(30000)->Unit(benchmark::kMillisecond)->UseRealTime();

void without_lines(benchmark::State& state) {
  using Put = std::ostream& (*)(std::ostream&);
  symbolize_code_at(state, reinterpret_cast<uint64_t>(static_cast<Put>(&std::flush)));
}
BENCHMARK(without_lines)->Arg(1)->Arg(30000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace heaptape::replayer

BENCHMARK_MAIN();
