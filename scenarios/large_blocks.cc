#include "scenarios/scenario_list.h"

#include <vector>

#include "scenarios/heap_writer.h"

namespace heaptape::scenarios {
namespace {

using schema::TapeWriter;

void generate_calloc_loop(const Values& values, TapeWriter& tape) {
  HeapWriter heap(tape);
  const uint64_t size = values["size"];
  for (uint64_t left = values["iters"]; left != 0; --left) heap.free(heap.calloc(size));
}

void generate_ring_mix(const Values& values, TapeWriter& tape) {
  HeapWriter heap(tape);
  const bool zeroed = values.is_on("calloc");
  const uint64_t count = values["count"];
  const uint64_t from = values["from"];
  const uint64_t step = values["step"];
  for (uint64_t round = values["rounds"]; round != 0; --round) {
    std::vector<Block> blocks;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t size = from + i * step;
      blocks.push_back(zeroed ? heap.calloc(size) : heap.malloc(size));
    }
    for (Block& block : blocks) heap.free(block);
  }
}

}  // namespace

Scenario calloc_loop_scenario() {
  return {"calloc-loop",
          "one large block, allocated with calloc and freed, again and again",
          {{"size", 100 << 20, "bytes of the block"}, {"iters", 10'000, "number of iterations"}},
          generate_calloc_loop};
}

Scenario ring_mix_scenario() {
  return {"ring-mix",
          "rounds of large blocks of different sizes, freed first to last",
          {{"count", 17, "number of sizes"},
           {"from", 1 << 20, "smallest size in bytes"},
           {"step", 64 << 10, "bytes between one size and the next"},
           {"rounds", 100, "number of rounds"},
           on_off("calloc", Switch::kOff, "allocate by calloc")},
          generate_ring_mix};
}

}  // namespace heaptape::scenarios
