#include "recorder/import/live_blocks.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "tests/support/tapes.h"

namespace heaptape::recorder {
namespace {

TEST(LiveBlocks, FindsWhatIsThereAndNothingElse) {
  tests::Random random(tests::test_seed());
  LiveBlocks blocks;
  std::unordered_map<uint64_t, uint64_t> model;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t key = 1 + random.below(5'000) * (random.chance(2) ? 16 : 4096);
    const LiveBlock* const found = blocks.find(key);
    ASSERT_EQ(found != nullptr, model.contains(key)) << tests::test_seed();
    if (found != nullptr) {
      ASSERT_EQ(found->size, model[key]);
      blocks.erase(found);
      model.erase(key);
    } else {
      blocks.insert({key, key, static_cast<uint64_t>(i)});
      model[key] = static_cast<uint64_t>(i);
    }
    ASSERT_EQ(blocks.count(), model.size());
  }
}

}  // namespace
}  // namespace heaptape::recorder
