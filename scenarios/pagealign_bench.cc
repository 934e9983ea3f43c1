#include "scenarios/pagealign_calls.h"
#include "scenarios/scenario_list.h"

namespace heaptape::scenarios {

// To pagealign_alloc's posix_memalign back end a block is one posix_memalign and one free, and
// models of pagealign_alloc know its blocks by that.
Parameter PagealignCalls::parameter() {
  return {
      "via",
      0,
      "the back end whose calls are on the tape; models of pagealign_alloc want those of memalign",
      {"memalign", "malloc", "mmap"}};
}

PageBlock PagealignCalls::allocate(uint64_t bytes) {
  switch (via_) {
    case Via::kMalloc: {
      const Block memory = heap_.malloc(bytes + page_bytes_ - 1);
      return {memory, heap_.malloc(kNodeBytes)};
    }
    case Via::kMmap:
      return {{}, heap_.malloc(kNodeBytes)};
    default:
      return {heap_.posix_memalign(page_bytes_, bytes), {}};
  }
}

void PagealignCalls::release(const PageBlock& block) {
  if (block.node.address != 0) heap_.free(Block(block.node));
  if (block.memory.address != 0) heap_.free(Block(block.memory));
}

namespace {

// As tests/bench-pagealign_alloc.c of gnulib (2025-09-11) goes about it, 16 pages a batch.
void generate_bench(const Values& values, schema::TapeWriter& tape) {
  HeapWriter heap(tape);
  PagealignCalls pagealign(heap, values["via"], kPageBytes);
  for (uint64_t left = values["batches"]; left != 0; --left) {
    for (int i = 0; i < 9; ++i) pagealign.allocate(kPageBytes);
    for (int i = 0; i < 2; ++i) pagealign.allocate(2 * kPageBytes);
    pagealign.allocate(3 * kPageBytes);
  }
}

}  // namespace

Scenario pagealign_bench_scenario() {
  return {"pagealign-bench",
          "blocks of one to three pages that stay: gnulib's benchmark of pagealign_alloc",
          {{"batches", 2430, "of 12 blocks, 16 pages in all"}, PagealignCalls::parameter()},
          generate_bench};
}

}  // namespace heaptape::scenarios
