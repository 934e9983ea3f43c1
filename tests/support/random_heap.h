// A model under random calls: the common part of models' property tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/model_heap.h"
#include "tests/support/seeded_random.h"

namespace heaptape::tests {

template <allocators::AllocatorModel M>
class RandomHeap : public ModelHeap<M> {
 public:
  using Heap = ModelHeap<M>;

  // `any_size` gives the sizes of blocks.
  explicit RandomHeap(uint64_t (*any_size)(Random&), const std::vector<std::string>& options = {})
      : Heap(options), any_size_(any_size) {}

  Random& random() { return random_; }

  // One call: makes a new block while there are fewer than `most_blocks`, or resizes or frees one.
  // Returns where the new or resized block is; 0 if one was freed.
  uint64_t act(size_t most_blocks) {
    if (blocks_.empty() || (blocks_.size() < most_blocks && random_.chance(2))) {
      blocks_.push_back(allocate_any());
      return blocks_.back();
    }
    uint64_t& block = blocks_[random_.below(blocks_.size())];
    if (random_.chance(3)) return block = Heap::reallocate(block, 1 + size_near(block));
    Heap::release(block);
    block = blocks_.back();
    blocks_.pop_back();
    return 0;
  }

  // Many calls, up to the first failure.
  void run(size_t most_blocks, int calls) {
    for (int i = 0; i < calls && !testing::Test::HasFailure(); ++i) {
      act(most_blocks);
      if (i % 500 == 0) Heap::check_absent();
    }
  }

  void release_everything() { Heap::release_all(std::exchange(blocks_, {})); }

 private:
  uint64_t allocate_any() {
    const uint64_t bytes = any_size_(random_);
    if (random_.chance(8)) return Heap::allocate_zeroed(bytes);
    return Heap::allocate(bytes, random_.chance(8) ? uint64_t{1} << random_.below(23) : 0);
  }

  // Half of the resizes change the size by at most a third.
  uint64_t size_near(uint64_t block) {
    if (random_.chance(2)) return any_size_(random_);
    return Heap::usable(block) * (64 + random_.below(64)) / 96;
  }

  SeededRandom random_;
  uint64_t (*any_size_)(Random&);
  std::vector<uint64_t> blocks_;
};

}  // namespace heaptape::tests
