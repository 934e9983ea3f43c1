// By which rule model:ptmalloc says that it took memory from the system.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "tests/support/model_heap.h"
#include "tests/support/sizes.h"

namespace heaptape::allocators {
namespace {

using tests::kMiB;

// Of the 135,168 bytes of the first heap, the cache of the thread and the first block take 688.
class PtmallocRules : public testing::Test, protected tests::ModelHeap<PtmallocModel> {
 protected:
  explicit PtmallocRules(const std::vector<std::string>& options = {}) : ModelHeap(options) {
    allocate(1);
  }
  void begin_second_arena() {
    model().set_thread(1);
    allocate(100);
  }
};

TEST_F(PtmallocRules, TheFirstHeapIsWhatIsNeededAndThePad) {
  EXPECT_EQ(rules(),
            "the heap begins: it needs 688 bytes, and top_pad (131,072 bytes) comes on top, in "
            "whole pages");
}

TEST_F(PtmallocRules, TheBreakMovesByWhatTopLacksAndThePad) {
  allocate(131'000);
  allocate(100'000);
  EXPECT_EQ(rules(),
            "no free chunk fits and top lacks 96,576 bytes: the break moves by that and top_pad "
            "(131,072 bytes), in whole pages");
}

TEST_F(PtmallocRules, AChunkOfTheThresholdGetsAMapping) {
  allocate(1'000'000);
  EXPECT_EQ(rules(),
            "a chunk of 1,000,016 bytes reaches mmap_threshold (131,072 bytes now): it gets a "
            "mapping");
}

TEST_F(PtmallocRules, TheThresholdIsWhatFreedMappingsMadeOfIt) {
  release(allocate(1'000'000));
  allocate(1'000'000);
  EXPECT_TRUE(rules().starts_with("no free chunk fits and top lacks 865,568 bytes")) << rules();
  allocate(2'000'000);
  EXPECT_EQ(rules(),
            "a chunk of 2,000,016 bytes reaches mmap_threshold (1,003,520 bytes now): it gets a "
            "mapping");
}

TEST_F(PtmallocRules, AMappingThatGrowsStaysOne) {
  reallocate(allocate(200'000), 400'000);
  EXPECT_EQ(rules(), "a block that has a mapping keeps one: it grows to 401,408 bytes");
}

TEST_F(PtmallocRules, AThreadWithoutAnIdleArenaGetsANewOne) {
  begin_second_arena();
  EXPECT_EQ(rules(),
            "another thread comes and no arena is idle: arena 1 begins a heap with room for the "
            "request and top_pad (131,072 bytes)");
}

TEST_F(PtmallocRules, AnArenaGrowsItsHeapByWhatTopLacks) {
  begin_second_arena();
  allocate(100'000);
  allocate(100'000);
  EXPECT_EQ(rules(),
            "no free chunk of the arena fits and its top lacks 67,920 bytes: its heap grows by "
            "that, in whole pages");
}

struct PtmallocRulesWithoutMappings : PtmallocRules {
  PtmallocRulesWithoutMappings() : PtmallocRules({"mmap_max=0"}) {}
};

TEST_F(PtmallocRulesWithoutMappings, TheBreakMovesForWhatWouldGetOne) {
  allocate(1'000'000);
  EXPECT_EQ(rules(),
            "as many chunks as mmap_max allows (0) have mappings and top lacks 865,568 bytes: the "
            "break moves by that and top_pad, in whole pages");
}

struct PtmallocRulesOfLargeChunks : PtmallocRules {
  PtmallocRulesOfLargeChunks() : PtmallocRules({"mmap_threshold=1GiB"}) { begin_second_arena(); }
};

TEST_F(PtmallocRulesOfLargeChunks, AFullHeapIsFollowedByAnother) {
  allocate(60 * kMiB);
  allocate(40 * kMiB);
  EXPECT_EQ(rules(),
            "the arena's heap cannot grow beyond 67,108,864 bytes: another begins with room for "
            "the request and top_pad (131,072 bytes)");
}

TEST_F(PtmallocRulesOfLargeChunks, WhatNoHeapHoldsGetsAMapping) {
  allocate(80 * kMiB);
  EXPECT_EQ(rules(),
            "neither the arena's heap nor a new one (67,108,864 bytes at most) holds a chunk of "
            "83,886,096 bytes: it gets a mapping");
}

}  // namespace
}  // namespace heaptape::allocators
