#include "scenarios/pagealign_calls.h"
#include "scenarios/scenario_list.h"

namespace heaptape::scenarios {

// With the posix_memalign back end a block is one posix_memalign and one free. Models of
// pagealign_alloc recognize its blocks by that.
Parameter PagealignCalls::parameter() {
  return choice("via", Via::kMemalign,
                "back end of pagealign_alloc whose calls are recorded; its models need memalign",
                {"memalign", "malloc", "mmap"});
}

PageBlock PagealignCalls::allocate(uint64_t bytes) {
  switch (via_) {
    case Via::kMalloc: {
      const Block memory = heap_.malloc(bytes + page_bytes_ - 1);
      return {memory, heap_.malloc(kNodeBytes)};
    }
    case Via::kMmap:
      return {{}, heap_.malloc(kNodeBytes)};
    case Via::kMemalign:
      break;
  }
  return {heap_.posix_memalign(page_bytes_, bytes), {}};
}

void PagealignCalls::release(const PageBlock& block) {
  if (block.node.address != 0) heap_.free(Block(block.node));
  if (block.memory.address != 0) heap_.free(Block(block.memory));
}

namespace {

// The loop of gnulib's tests/bench-pagealign_alloc.c (2025-09-11): 16 pages per batch.
void generate_bench(const Values& values, schema::TapeWriter& tape) {
  HeapWriter heap(tape);
  PagealignCalls pagealign(heap, values.get<PagealignCalls::Via>("via"), kPageBytes);
  for (uint64_t left = values["batches"]; left != 0; --left) {
    for (int i = 0; i < 9; ++i) pagealign.allocate(kPageBytes);
    for (int i = 0; i < 2; ++i) pagealign.allocate(2 * kPageBytes);
    pagealign.allocate(3 * kPageBytes);
  }
}

}  // namespace

Scenario pagealign_bench_scenario() {
  return {"pagealign-bench",
          "blocks of one to three pages, never freed: gnulib's benchmark of pagealign_alloc",
          {{"batches", 2430, "number of batches, 12 blocks and 16 pages each"},
           PagealignCalls::parameter()},
          generate_bench};
}

}  // namespace heaptape::scenarios
