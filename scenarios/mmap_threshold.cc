#include "scenarios/scenario_list.h"

#include <algorithm>
#include <vector>

#include "scenarios/heap_writer.h"

namespace heaptape::scenarios {
namespace {

constexpr uint64_t kSurvivorBytes = 232;
constexpr uint64_t kShrunkBytes = 1000;

enum class Variant : uint64_t { kGrow, kRemap };

void grow(const std::vector<uint64_t>& sizes, uint64_t survivors, HeapWriter& heap) {
  for (const uint64_t size : sizes) heap.free(heap.malloc(size));
  std::vector<Block> buffers;
  for (const uint64_t size : sizes) {
    buffers.push_back(heap.malloc(size));
    for (uint64_t i = 0; i < survivors; ++i) heap.malloc(kSurvivorBytes);
  }
  for (Block& buffer : buffers) heap.free(buffer);
}

void remap(uint64_t from, uint64_t to, HeapWriter& heap) {
  Block block = heap.malloc(from);
  heap.realloc(block, kShrunkBytes);
  heap.realloc(block, to);
}

void generate(const Values& values, schema::TapeWriter& tape) {
  HeapWriter heap(tape);
  const uint64_t last = values["to"];
  if (values.get<Variant>("variant") == Variant::kRemap) {
    remap(values["from"], last, heap);
    return;
  }
  std::vector<uint64_t> sizes;
  const uint64_t step = std::max<uint64_t>(values["step"], 1);
  for (uint64_t size = values["from"]; size <= last; size += step) {
    sizes.push_back(size);
    if (last - size < step) break;  // the sum might wrap around
  }
  grow(sizes, values["survivors"], heap);
}

}  // namespace

Scenario mmap_threshold_scenario() {
  return {"mmap-threshold",
          "large blocks freed in order of increasing size, then all at once with small blocks "
          "between them",
          {{"from", 200'000, "bytes of the smallest large block"},
           {"to", 5'000'000, "bytes of the largest"},
           {"step", 200'000, "bytes between one size and the next"},
           {"survivors", 2, "small blocks kept after each large one"},
           choice("variant", Variant::kGrow,
                  "grow: as above; remap: one block, resized from 'from' to 1,000 to 'to' bytes",
                  {"grow", "remap"})},
          generate};
}

}  // namespace heaptape::scenarios
