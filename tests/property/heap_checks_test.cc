// HeapChecks against the plainest way to find the same faults.
#include "allocators/plugin/heap_checks.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/seeded_random.h"

namespace heaptape::allocators {
namespace {

constexpr uint64_t kBase = 0x100000000000;
// Four leaves of the map; blocks and memory come in units, so that they meet often.
constexpr uint64_t kUnits = 64;
constexpr uint64_t kUnitBytes = 4 << 20;

class RandomHeap {
 public:
  RandomHeap(tests::Random& random, int granule_log2)
      : random_(random),
        checks_(granule_log2, {kBase, kBase + kUnits * kUnitBytes}, HeapChecks::Blocks::kChecked) {}

  // Calls until the first fault; each must be found, and nothing else.
  void run() {
    for (int calls = 0; calls < 2000; ++calls) {
      const bool is_right = act();
      ASSERT_EQ(!checks_.has_fault(), is_right) << "call " << calls << ": " << checks_.fault();
      if (!is_right) return;
    }
  }

 private:
  // Returns whether the call was right.
  bool act() {
    const uint64_t first = random_.below(kUnits);
    const uint64_t count = 1 + random_.below(std::min<uint64_t>(kUnits - first, 6));
    const AddressRange range{kBase + first * kUnitBytes, kBase + (first + count) * kUnitBytes};
    switch (random_.below(8)) {
      case 0:
      case 1:
        return change_memory(first, count, range, true);
      case 2:
        return change_memory(first, count, range, false);
      case 3:
      case 4:
        return take_one();
      default:
        return place(first, count, range);
    }
  }

  // Mostly right calls, so that heaps come to hold something before the fault.
  bool may_do(bool is_right) { return is_right || random_.chance(20); }

  bool change_memory(uint64_t first, uint64_t count, AddressRange range, bool is_commit) {
    bool is_right = is_commit || !touches_block(range);
    for (uint64_t i = first; i < first + count; ++i) is_right &= committed_[i] != is_commit;
    if (!may_do(is_right)) return true;
    EXPECT_EQ(is_commit ? checks_.commit(range) : checks_.decommit(range), is_right);
    for (uint64_t i = first; i < first + count && is_right; ++i) committed_[i] = is_commit;
    return is_right;
  }

  bool place(uint64_t first, uint64_t count, AddressRange range) {
    const uint64_t usable = range.bytes() - (random_.chance(2) ? random_.below(kUnitBytes) : 0);
    range.end = range.begin + usable;
    bool is_right = !touches_block(range);
    for (uint64_t i = first; i < first + count; ++i) is_right &= committed_[i];
    if (!may_do(is_right)) return true;
    EXPECT_EQ(checks_.place({range.begin, usable}, usable, 0), is_right);
    if (is_right) blocks_.emplace(range.begin, range.end);
    return is_right;
  }

  bool take_one() {
    if (blocks_.empty()) return true;
    const auto block =
        std::next(blocks_.begin(), static_cast<ptrdiff_t>(random_.below(blocks_.size())));
    EXPECT_EQ(checks_.take(block->first).begin, block->first);
    blocks_.erase(block);
    EXPECT_EQ(checks_.live_blocks(), blocks_.size());
    return true;
  }

  bool touches_block(AddressRange range) const {
    const auto after = blocks_.lower_bound(range.end);
    return after != blocks_.begin() && std::prev(after)->second > range.begin;
  }

  tests::Random& random_;
  HeapChecks checks_;
  bool committed_[kUnits] = {};
  std::map<uint64_t, uint64_t> blocks_;
};

TEST(RandomCalls, AreFoundWrongExactlyWhenTheyAre) {
  tests::SeededRandom random;
  for (int round = 0; round < 400 && !testing::Test::HasFailure(); ++round) {
    RandomHeap(random, 3 + round % 4).run();
  }
}

}  // namespace
}  // namespace heaptape::allocators
