#include "scenarios/scenario_list.h"

#include "scenarios/heap_writer.h"

namespace heaptape::scenarios {
namespace {

void generate(const Values& values, schema::TapeWriter& tape) {
  HeapWriter heap(tape);
  const uint64_t buffer_bytes = values["buffer"];
  const uint64_t hole_bytes = values["hole"];
  heap.malloc(1);
  // glibc maps a block this large until one has been freed.
  heap.free(heap.malloc(hole_bytes != 0 ? hole_bytes : buffer_bytes));
  if (hole_bytes != 0) {
    Block hole = heap.malloc(hole_bytes);
    heap.malloc(1);  // separates the hole from the free memory after it
    heap.free(hole);
  }
  Block buffer = heap.malloc(buffer_bytes);
  heap.malloc(values["pin"]);
  heap.free(buffer);
  heap.malloc(values["next"]);
}

}  // namespace

Scenario sliver_pin_scenario() {
  return {"sliver-pin",
          "a small block after a long one, whose hole is too short for the next one",
          {{"buffer", 8'880'467, "bytes of the long block"},
           {"pin", 232, "bytes of the block after it"},
           {"next", 8'880'819, "bytes of the block requested after the long one is freed"},
           {"hole", 0, "bytes of a freed block from which the long one is cut; 0: none"}},
          generate};
}

}  // namespace heaptape::scenarios
