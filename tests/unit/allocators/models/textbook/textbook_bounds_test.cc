// What the literature proves of the textbook's allocators.
#include <gtest/gtest.h>

#include "allocators/models/textbook/buddy_heap.h"
#include "allocators/models/textbook/bump_heap.h"
#include "allocators/models/textbook/fit_heap.h"
#include "allocators/models/textbook/segregated_heap.h"
#include "tests/support/model_heap.h"
#include "tests/support/seeded_random.h"

namespace heaptape::allocators::textbook {
namespace {

// Robson's program (J. M. Robson, "Bounds for Some Functions Concerning Dynamic Storage
// Allocation", JACM 1974; as restated by Cohen and Petrank, PLDI 2013): no more than M words are
// ever alive, no block has more than n, and yet no allocator that cannot move blocks gets by with
// less than M * (log2(n) / 2 + 1) - n + 1 words. A word is 32 bytes here.
//
// Step i keeps the blocks that lie on an address of f modulo 2^i, frees the others, and fills up
// with blocks of 2^i words.
template <typename Model>
class RobsonsProgram {
 public:
  static constexpr uint64_t kWord = 32;

  RobsonsProgram(const std::vector<std::string>& options, uint64_t most_words)
      : heap_(options), most_words_(most_words) {}

  uint64_t words_taken(int largest_log2) {
    fill(0);
    for (int i = 1; i <= largest_log2; ++i) {
      const uint64_t half = uint64_t{1} << (i - 1);
      if (waste(offset_ + half, i) > waste(offset_, i)) offset_ += half;
      release_others(i);
      fill(i);
    }
    return (end_ - kModelBase) / kWord;
  }

 private:
  struct Block {
    uint64_t word;
    uint64_t words;

    bool lies_on(uint64_t offset, int i) const {
      const uint64_t period = uint64_t{1} << i;
      return (offset - word) % period < words;
    }
  };

  void fill(int i) {
    const uint64_t words = uint64_t{1} << i;
    for (; live_words_ + words <= most_words_; live_words_ += words) {
      const uint64_t address = heap_.allocate(words * kWord);
      end_ = std::max(end_, address + words * kWord);
      blocks_.push_back({(address - kModelBase) / kWord, words});
    }
  }

  uint64_t waste(uint64_t offset, int i) const {
    uint64_t sum = 0;
    for (const Block& block : blocks_) {
      if (block.lies_on(offset, i)) sum += (uint64_t{1} << i) - block.words;
    }
    return sum;
  }

  void release_others(int i) {
    std::erase_if(blocks_, [&](const Block& block) {
      if (block.lies_on(offset_, i)) return false;
      heap_.release(kModelBase + block.word * kWord);
      live_words_ -= block.words;
      return true;
    });
  }

  tests::ModelHeap<Model> heap_;
  uint64_t most_words_;
  uint64_t live_words_ = 0;
  uint64_t offset_ = 0;
  uint64_t end_ = kModelBase;
  std::vector<Block> blocks_;
};

constexpr uint64_t kMostWords = 4096;
constexpr int kLargestLog2 = 8;
constexpr uint64_t kRobsonsBound = kMostWords * (kLargestLog2 / 2 + 1) - 256 + 1;
static_assert(kRobsonsBound == 20'225);

const std::vector<std::string> kBareBlocks{"header_bytes=0", "alignment=32"};

TEST(RobsonsBound, IsAllThatFirstFitTakes) {
  EXPECT_EQ(RobsonsProgram<FirstFitModel>(kBareBlocks, kMostWords).words_taken(kLargestLog2),
            kRobsonsBound);
}

TEST(RobsonsBound, IsAllThatNextFitTakes) {
  EXPECT_EQ(RobsonsProgram<NextFitModel>(kBareBlocks, kMostWords).words_taken(kLargestLog2),
            kRobsonsBound);
}

TEST(RobsonsBound, IsAllThatBestFitTakes) {
  EXPECT_EQ(RobsonsProgram<BestFitModel>(kBareBlocks, kMostWords).words_taken(kLargestLog2),
            kRobsonsBound);
}

TEST(RobsonsBound, IsPassedByBuddies) {
  EXPECT_EQ(RobsonsProgram<BuddyModel>({}, kMostWords).words_taken(kLargestLog2), 20'480u);
}

TEST(RobsonsBound, IsPassedBySegregatedStorage) {
  EXPECT_EQ(RobsonsProgram<SegregatedModel>({}, kMostWords).words_taken(kLargestLog2), 20'480u);
}

// Rounding up to a power of two never doubles a block.
TEST(BuddyBound, WastesLessThanHalfOfEachBlock) {
  tests::SeededRandom random;
  tests::ModelHeap<BuddyModel> heap;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t bytes = 16 + random.below(uint64_t{1} << (5 + random.below(18)));
    ASSERT_LT(heap.usable(heap.allocate(bytes)), 2 * bytes);
  }
}

TEST(SegregatedBound, WastesLessThanAFifthOfEachSmallBlock) {
  for (uint64_t bytes = 65; bytes <= 32'768; ++bytes) {
    const uint64_t block = size_class_bytes(size_class_of(bytes));
    ASSERT_LT((block - bytes) * 5, block);
  }
}

// Knuth's fifty-percent rule (volume 1, section 2.5): in equilibrium, with sizes that rarely fit
// exactly, there are about half as many holes as blocks.
TEST(FiftyPercentRule, HoldsForFirstFit) {
  tests::Random random(1);  // a statistical fact: one sequence for all
  tests::ModelHeap<FirstFitModel> heap;
  std::vector<uint64_t> blocks = heap.allocate_many(2000, 5000);
  for (int i = 0; i < 200'000; ++i) {
    uint64_t& block = blocks[random.below(blocks.size())];
    heap.release(block);
    block = heap.allocate(100 + random.below(10'000));
  }
  uint64_t holes = 0;
  uint64_t end = kModelBase;
  for (const auto& [address, usable_end] : heap.live()) {
    holes += address - end > 8;
    end = usable_end;
  }
  EXPECT_GT(holes, 700u);
  EXPECT_LT(holes, 1100u);
}

}  // namespace
}  // namespace heaptape::allocators::textbook
