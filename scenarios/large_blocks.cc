#include "scenarios/large_blocks.h"

#include <vector>

#include "scenarios/heap_writer.h"

namespace heaptape::scenarios {
namespace {

using schema::TapeWriter;

void generate_calloc_loop(const Values& values, TapeWriter& tape) {
  HeapWriter heap(tape);
  for (uint64_t i = 0; i < values["iters"]; ++i) heap.free(heap.calloc(values["size"]));
}

void generate_ring_mix(const Values& values, TapeWriter& tape) {
  HeapWriter heap(tape);
  const bool zeroed = values["calloc"] != 0;
  for (uint64_t round = 0; round < values["rounds"]; ++round) {
    std::vector<Block> blocks;
    for (uint64_t i = 0; i < values["count"]; ++i) {
      const uint64_t size = values["from"] + i * values["step"];
      blocks.push_back(zeroed ? heap.calloc(size) : heap.malloc(size));
    }
    for (Block& block : blocks) heap.free(block);
  }
}

}  // namespace

Scenario calloc_loop_scenario() {
  return {
      "calloc-loop",
      "one large block, allocated zeroed and freed again and again",
      {{"size", 100 << 20, "bytes of the block"},
       {"iters", 10'000, "times"},
       {"touch_fraction", 100, "percent that the program writes: a note, a tape has no writes"}},
      generate_calloc_loop};
}

Scenario ring_mix_scenario() {
  return {"ring-mix",
          "rounds of large blocks of different sizes, freed first to last",
          {{"count", 17, "sizes"},
           {"from", 1 << 20, "smallest size in bytes"},
           {"step", 64 << 10, "bytes from one size to the next"},
           {"rounds", 100, "times"},
           {"calloc", 0, "1: zeroed blocks"}},
          generate_ring_mix};
}

}  // namespace heaptape::scenarios
