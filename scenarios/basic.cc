#include "scenarios/scenario_list.h"

#include <algorithm>
#include <vector>

#include "scenarios/heap_writer.h"

namespace heaptape::scenarios {
namespace {

using schema::TapeWriter;

void generate_fill(const Values& values, TapeWriter& tape) {
  HeapWriter heap(tape);
  std::vector<Block> blocks;
  const uint64_t size = values["size"];
  const bool frees = values.is_on("free");
  for (uint64_t left = values["count"]; left != 0; --left) {
    const Block block = heap.malloc(size);
    if (frees) blocks.push_back(block);
  }
  for (Block& block : blocks) heap.free(block);
}

void generate_random_slots(const Values& values, TapeWriter& tape) {
  HeapWriter heap(tape);
  Random random(values["seed"]);
  std::vector<Block> slots(std::max<uint64_t>(values["slots"], 1));
  const uint64_t events = values["events"];
  const uint64_t least = values["min"];
  const uint64_t span = std::min(std::max(values["max"], least) - least, UINT64_MAX - 1) + 1;
  for (uint64_t i = 0; i < events; ++i) {
    const uint64_t draw = random.next();
    Block& block = slots[draw % slots.size()];
    if (block.address != 0) {
      heap.free(block);
    } else {
      block = heap.malloc(least + (draw >> 20) % span);
    }
  }
}

void generate_resize(const Values& values, TapeWriter& tape) {
  HeapWriter heap(tape);
  const uint64_t last = values["to"];
  const uint64_t step = std::max<uint64_t>(values["step"], 1);
  Block block = heap.malloc(values["from"]);
  while (block.size < last) {
    heap.realloc(block, std::min(block.size + step, last));
  }
  heap.free(block);
}

}  // namespace

Scenario fill_scenario() {
  return {"fill",
          "blocks of one size, one after another",
          {{"count", 100'000, "number of blocks"},
           {"size", 232, "bytes per block"},
           on_off("free", Switch::kOff, "free them all at the end, first to last")},
          generate_fill};
}

Scenario random_slots_scenario() {
  return {"random-slots",
          "random mallocs and frees, half and half",
          {{"events", 1'000'000, "number of calls"},
           {"slots", 4096, "maximum number of live blocks"},
           {"min", 16, "smallest size in bytes"},
           {"max", 1039, "largest size in bytes"},
           {"seed", 88'172'645'463'325'252, "seed of the random numbers"}},
          generate_random_slots};
}

Scenario resize_scenario() {
  return {"resize",
          "one block that grows by realloc",
          {{"from", 8'000'835, "first size in bytes"},
           {"to", 8'000'925, "last size in bytes"},
           {"step", 90, "bytes that each realloc adds"}},
          generate_resize};
}

}  // namespace heaptape::scenarios
