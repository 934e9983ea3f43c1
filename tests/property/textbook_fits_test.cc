// The sequential fits against a heap that keeps one sorted list of blocks and walks it: the same
// addresses and the same number of holes looked at, whatever the calls.
#include <gtest/gtest.h>

#include "allocators/models/textbook/fit_heap.h"
#include "tests/support/model_heap.h"
#include "tests/support/seeded_random.h"

namespace heaptape::allocators::textbook {
namespace {

enum class Fit { kFirst, kNext, kBest };

// With the default options: 8 bytes of header, 16 of alignment, least block and rest 32 bytes.
class WalkedHeap {
 public:
  explicit WalkedHeap(Fit fit) : fit_(fit) {}

  uint64_t allocate(uint64_t bytes) {
    const uint64_t need = std::max<uint64_t>(32, (bytes + 8 + 15) / 16 * 16);
    size_t hit = search(need);
    if (hit == kNone) hit = grow(need);
    Block& block = blocks_[hit];
    block.free = false;
    const Block rest{block.address + need, block.bytes - need, true};
    if (rest.bytes >= 32) {
      block.bytes = need;
      blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(hit) + 1, rest);
    }
    rover_ = blocks_[hit].address + blocks_[hit].bytes;
    return blocks_[hit].address;
  }

  void release(uint64_t address) {
    size_t i = 0;
    while (blocks_[i].address != address) ++i;
    blocks_[i].free = true;
    if (i + 1 < blocks_.size() && blocks_[i + 1].free) swallow_next(i);
    if (i > 0 && blocks_[i - 1].free) swallow_next(--i);
    const Block& hole = blocks_[i];
    if (hole.address < rover_ && rover_ < hole.address + hole.bytes) rover_ = hole.address;
  }

  uint64_t steps() const { return steps_; }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Block {
    uint64_t address;
    uint64_t bytes;
    bool free;
  };

  // Walks the blocks from the rover on, or from the first; for best fit to the end.
  size_t search(uint64_t need) {
    size_t start = 0;
    if (fit_ == Fit::kNext) {
      while (start < blocks_.size() && blocks_[start].address < rover_) ++start;
    }
    size_t best = kNone;
    for (size_t n = 0; n < blocks_.size(); ++n) {
      const size_t i = (start + n) % blocks_.size();
      if (!blocks_[i].free) continue;
      ++steps_;
      if (blocks_[i].bytes < need) continue;
      if (fit_ != Fit::kBest || blocks_[i].bytes == need) return i;
      if (best == kNone || blocks_[i].bytes < blocks_[best].bytes) best = i;
    }
    return best;
  }

  size_t grow(uint64_t need) {
    if (blocks_.empty() || !blocks_.back().free) blocks_.push_back({end_, 0, true});
    while (blocks_.back().bytes < need) {
      const uint64_t new_end = (end_ & ~uint64_t{65535}) + 65536;
      blocks_.back().bytes += new_end - end_;
      end_ = new_end;
    }
    return blocks_.size() - 1;
  }

  void swallow_next(size_t i) {
    blocks_[i].bytes += blocks_[i + 1].bytes;
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i) + 1);
  }

  Fit fit_;
  std::vector<Block> blocks_;
  uint64_t end_ = kModelBase + 16;
  uint64_t rover_ = 0;
  uint64_t steps_ = 0;
};

template <typename Model>
class Twins {
 public:
  explicit Twins(Fit fit) : walked_(fit) {}

  void run(tests::Random& random, size_t most_blocks, int calls) {
    for (int i = 0; i < calls && !testing::Test::HasFailure(); ++i) {
      if (blocks_.size() < most_blocks && random.chance(2)) {
        const uint64_t bytes = random.chance(50) ? random.below(100'000) : random.below(600);
        blocks_.push_back(model_.allocate(bytes));
        ASSERT_EQ(blocks_.back(), walked_.allocate(bytes));
        ASSERT_EQ(model_.counter("searchSteps"), walked_.steps());
      } else if (!blocks_.empty()) {
        uint64_t& block = blocks_[random.below(blocks_.size())];
        model_.release(block);
        walked_.release(block);
        block = blocks_.back();
        blocks_.pop_back();
      }
    }
  }

 private:
  tests::ModelHeap<Model> model_;
  WalkedHeap walked_;
  std::vector<uint64_t> blocks_;
};

template <typename Model>
void compare(Fit fit) {
  tests::SeededRandom random;
  Twins<Model> twins(fit);
  for (const size_t most_blocks : {20u, 400u, 60u}) twins.run(random, most_blocks, 8000);
}

TEST(FirstFitReference, AgreesWithAWalkOfTheList) {
  compare<FirstFitModel>(Fit::kFirst);
}

TEST(NextFitReference, AgreesWithAWalkOfTheList) {
  compare<NextFitModel>(Fit::kNext);
}

TEST(BestFitReference, AgreesWithAWalkOfTheList) {
  compare<BestFitModel>(Fit::kBest);
}

}  // namespace
}  // namespace heaptape::allocators::textbook
