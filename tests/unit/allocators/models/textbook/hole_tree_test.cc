#include "allocators/models/textbook/hole_tree.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/seeded_random.h"

namespace heaptape::allocators::textbook {
namespace {

TEST(HoleTree, FindsTheHighestFitBelowALimit) {
  tests::SeededRandom random;
  HoleTree tree;
  std::map<uint64_t, uint64_t> plain;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t address = 16 * random.below(300);
    if (plain.erase(address) != 0) {
      tree.erase(address);
    } else {
      plain[address] = 1 + random.below(100);
      tree.insert({address, plain[address]});
    }
    const uint64_t limit = random.below(5000);
    const uint64_t bytes = 1 + random.below(110);
    Hole expected;
    for (const auto& [at, size] : plain) {
      if (at < limit && size >= bytes) expected = {at, size};
    }
    ASSERT_EQ(tree.highest_fit_before(limit, bytes), expected);
  }
}

}  // namespace
}  // namespace heaptape::allocators::textbook
