// Whatever the calls, the pagealign models hand out memory of their own, and charge what the real
// list and the real hash map would take.
#include <gtest/gtest.h>

#include <list>

#include "allocators/models/pagealign/pagealign_model.h"
#include "tests/support/model_heap.h"
#include "tests/support/seeded_random.h"

namespace heaptape::allocators::pagealign {
namespace {

std::vector<std::vector<std::string>> every_base() {
  std::vector<std::vector<std::string>> options;
  for (const std::string& name : base_model_names()) options.push_back({"base=" + name});
  return options;
}

template <typename Model>
class RandomPagealignHeap : public testing::Test {
 protected:
  using Heap = tests::ModelHeap<Model>;

  void act(Heap& heap, tests::Random& random, size_t most_blocks) {
    if (blocks_.size() < most_blocks && random.chance(2)) {
      const uint64_t alignment =
          random.chance(2) ? kPageBytes << random.below(3) * random.below(3) : 0;
      const uint64_t bytes = 1 + random.below(random.chance(4) ? 20 * kPageBytes : kPageBytes);
      blocks_.push_back(heap.allocate(bytes, alignment));
      return;
    }
    if (blocks_.empty()) return;
    uint64_t& block = blocks_[random.below(blocks_.size())];
    if (random.chance(5)) {
      block = heap.reallocate(block, 1 + random.below(3 * kPageBytes));
    } else {
      heap.release(block);
      block = blocks_.back();
      blocks_.pop_back();
    }
  }

  std::vector<uint64_t> blocks_;
};
using EveryModel = testing::Types<PagealignList, PagealignHash, PagealignMemalign, PagealignMalloc>;
TYPED_TEST_SUITE(RandomPagealignHeap, EveryModel);

TYPED_TEST(RandomPagealignHeap, KeepsBlocksApartAndOnMemoryItHolds) {
  tests::SeededRandom random;
  for (const auto& options : every_base()) {
    tests::ModelHeap<TypeParam> heap(options);
    for (int i = 0; i < 20'000; ++i) {
      this->act(heap, random, 500);
      if (i % 500 == 0) heap.check_absent();
      if (this->HasFailure()) return;
    }
    this->blocks_.clear();
  }
}

// The list itself, the newest first.
class RealList {
 public:
  void add(uint64_t address) { nodes_.push_front(address); }
  uint64_t remove(uint64_t address) {
    uint64_t visited = 1;
    auto node = nodes_.begin();
    for (; *node != address; ++node) ++visited;
    nodes_.erase(node);
    return visited;
  }

 private:
  std::list<uint64_t> nodes_;
};

// The hash map itself: chains as vectors, the newest last.
class RealHashMap {
 public:
  uint64_t add(uint64_t address) {
    auto& chain = chains_[address % chains_.size()];
    const uint64_t probes = chain.size();
    chain.push_back(address);
    ++count_;
    if (count_ + count_ / 2 > chains_.size()) grow();
    return probes;
  }
  uint64_t remove(uint64_t address) {
    auto& chain = chains_[address % chains_.size()];
    const auto at = std::ranges::find(chain, address);
    const auto probes = static_cast<uint64_t>(chain.end() - at);
    chain.erase(at);
    --count_;
    return probes;
  }

 private:
  void grow() {
    std::vector<std::vector<uint64_t>> chains(next_bucket_count(count_ + count_ / 2));
    for (size_t i = chains_.size(); i-- > 0;) {
      for (size_t at = chains_[i].size(); at-- > 0;) {
        chains[chains_[i][at] % chains.size()].push_back(chains_[i][at]);
      }
    }
    chains_.swap(chains);
  }

  std::vector<std::vector<uint64_t>> chains_ = std::vector<std::vector<uint64_t>>(11);
  uint64_t count_ = 0;
};

// Blocks of one to `most_pages` pages, taken and freed at random. `each(address, allocated)` is
// called after each of the model's calls.
template <typename Model, typename Each>
void churn(tests::ModelHeap<Model>& heap, tests::Random& random, uint64_t most_pages, Each&& each) {
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 20'000 && !testing::Test::HasFailure(); ++i) {
    if (blocks.empty() || random.below(100) < (blocks.size() < 700 ? 60u : 45u)) {
      blocks.push_back(heap.allocate((1 + random.below(most_pages)) * kPageBytes, kPageBytes));
      each(blocks.back(), true);
      continue;
    }
    std::swap(blocks[random.below(blocks.size())], blocks.back());
    heap.release(blocks.back());
    each(blocks.back(), false);
    blocks.pop_back();
  }
}

TEST(RandomPagealignList, VisitsTheNodesThatAWalkOfTheRealListDoes) {
  tests::SeededRandom random;
  tests::ModelHeap<PagealignList> heap({"base=runs"});
  RealList list;
  uint64_t visited = 0;
  churn(heap, random, 3, [&](uint64_t address, bool allocated) {
    allocated ? list.add(address) : void(visited += list.remove(address));
    ASSERT_EQ(heap.counter("listNodesVisited"), visited);
  });
}

// Strides of up to 97 pages make blocks collide.
TEST(RandomPagealignHash, ProbesTheNodesThatTheRealMapDoes) {
  tests::SeededRandom random;
  tests::ModelHeap<PagealignHash> heap({"base=runs"});
  RealHashMap map;
  uint64_t probes = 0;
  churn(heap, random, 97, [&](uint64_t address, bool allocated) {
    probes += allocated ? map.add(address) : map.remove(address);
    ASSERT_EQ(heap.counter("hashProbes"), probes);
  });
  EXPECT_GT(probes, 10'000u);
}

}  // namespace
}  // namespace heaptape::allocators::pagealign
