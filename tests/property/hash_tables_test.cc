// Open addressing under churn: every hash table of ours that moves or probes, with keys that all
// want the last few places, so that runs wrap around the end; against a map, through growth, until
// the table is empty, and again.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "allocators/models/block_sizes.h"
#include "recorder/collector/stack_table.h"
#include "recorder/import/live_blocks.h"
#include "recorder/interposer/frame_numbers.h"
#include "schema/tape/stack_end.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  // by which all of them multiply

// The factor that undoes it, by Newton's method.
constexpr uint64_t kInverse = [] {
  uint64_t inverse = kGoldenRatio;
  for (int i = 0; i < 6; ++i) inverse *= 2 - kGoldenRatio * inverse;
  return inverse;
}();
static_assert(kInverse * kGoldenRatio == 1);

// A product with 24 ones from that bit on, or nearly: whether a table takes the highest of them or
// the lowest, the home is one of the last places.
uint64_t crowded_hash(tests::Random& random, int shift) {
  constexpr uint64_t kOnes = (1 << 24) - 1;
  const uint64_t less = random.below(3) * (random.chance(2) ? 1 : 1 << 14);
  return (random.next() & ~(kOnes << shift)) | (kOnes - less) << shift;
}

// Each has insert(), find() and erase(), and the place of a key's home in its hash.
struct OfImports {
  static constexpr int kHomeShift = 24;
  void insert(uint64_t key, uint64_t value) { blocks.insert({key, value, value}); }
  uint64_t find(uint64_t key) const {
    const recorder::LiveBlock* const block = blocks.find(key);
    return block == nullptr ? 0 : block->size;
  }
  void erase(uint64_t key) { blocks.erase(blocks.find(key)); }

  recorder::LiveBlocks blocks;
};

// It is asked only for what it has.
struct OfModels {
  static constexpr int kHomeShift = 40;
  void insert(uint64_t key, uint64_t value) {
    sizes.insert(key, value);
    values[key] = true;
  }
  uint64_t find(uint64_t key) const { return values.contains(key) ? sizes.get(key) : 0; }
  void erase(uint64_t key) {
    sizes.erase(key);
    values.erase(key);
  }

  allocators::BlockSizes sizes;
  std::map<uint64_t, bool> values;
};

template <typename Table>
class CrowdedTable : public testing::Test {
 protected:
  uint64_t any_key() {
    return random_.chance(4) ? 1 + random_.next()
                             : crowded_hash(random_, Table::kHomeShift) * kInverse;
  }
  void insert() {
    const uint64_t key = any_key();
    if (key == 0 || expected_.contains(key)) return;
    table_.insert(key, ++last_value_);
    expected_[key] = last_value_;
    keys_.push_back(key);
  }
  void erase() {
    uint64_t& key = keys_[random_.below(keys_.size())];
    table_.erase(key);
    expected_.erase(key);
    ASSERT_EQ(table_.find(key), 0u);
    key = keys_.back();
    keys_.pop_back();
  }
  void expect_all() {
    for (const auto& [key, value] : expected_) ASSERT_EQ(table_.find(key), value);
  }

  tests::SeededRandom random_;
  Table table_;
  std::map<uint64_t, uint64_t> expected_;
  std::vector<uint64_t> keys_;
  uint64_t last_value_ = 0;
};

using Tables = testing::Types<OfImports, OfModels>;
TYPED_TEST_SUITE(CrowdedTable, Tables);

TYPED_TEST(CrowdedTable, HasWhatAMapHas) {
  for (const size_t most : {40u, 700u, 10u, 1500u, 100u}) {
    while (this->keys_.size() < most) this->insert();
    for (int i = 0; i < 1500 && !this->HasFailure(); ++i) {
      if (this->keys_.empty() || (this->keys_.size() < most && this->random_.chance(2))) {
        this->insert();
      } else {
        this->erase();
      }
      if (i % 50 == 0) this->expect_all();
    }
    while (!this->keys_.empty() && !this->HasFailure()) {
      this->erase();
      if (this->keys_.size() % 50 == 0) this->expect_all();
    }
  }
}

// The numbers of frames, which stay: the one of a thread's ring, and the one of a process's tape.
class OfRing {
 public:
  ~OfRing() { numbers_.clear(); }
  uint32_t number_of(uint32_t caller, uint64_t address) {
    const uint32_t known = numbers_.find(caller, address);
    if (known != 0) return known;
    EXPECT_TRUE(numbers_.make_room());
    return numbers_.add(caller, address);
  }

 private:
  recorder::FrameNumbers numbers_ = {};
};

class OfTape {
 public:
  OfTape() { tape_->encoder().set_has_stacks(); }
  uint32_t number_of(uint32_t caller, uint64_t address) {
    return table_.find_or_add({caller, address});
  }

 private:
  tests::TempDir dir_;
  std::unique_ptr<schema::TapeWriter> tape_ =
      std::move(*schema::TapeWriter::create(dir_.file("a.tape"), tests::sample_header()));
  recorder::StackTable table_{tape_->encoder()};
};

template <typename Numbers>
class CrowdedFrames : public testing::Test {
 protected:
  // That of a frame whose place would be near the end of every table, or anywhere.
  uint64_t any_address(uint32_t caller) {
    const uint64_t caller_part = uint64_t{caller} << 40 | caller;
    const uint64_t hash = random_.chance(4) ? random_.next() : crowded_hash(random_, 40);
    return (hash * kInverse - caller_part) & ~schema::kGuessFlag;
  }

  tests::SeededRandom random_;
  Numbers numbers_;
};

using Frames = testing::Types<OfRing, OfTape>;
TYPED_TEST_SUITE(CrowdedFrames, Frames);

// Callers with a few callees, with more than they keep beside them, and with thousands.
TYPED_TEST(CrowdedFrames, HaveTheNumbersThatAMapHas) {
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> known;
  std::vector<std::pair<uint32_t, uint64_t>> keys;
  for (int i = 0; i < 12'000; ++i) {
    const auto most_callers =
        std::min<uint64_t>(keys.size() + 1, this->random_.chance(3) ? 3'000 : 3);
    const auto caller = static_cast<uint32_t>(this->random_.below(most_callers));
    keys.emplace_back(caller, this->any_address(caller));
    const auto number = static_cast<uint32_t>(known.size() + 1);
    const auto [key, is_new] = known.try_emplace(keys.back(), number);
    ASSERT_EQ(this->numbers_.number_of(caller, keys.back().second), key->second);
    const auto& [old_caller, old_address] = keys[this->random_.below(keys.size())];
    ASSERT_EQ(this->numbers_.number_of(old_caller, old_address),
              known.at({old_caller, old_address}));
  }
  for (const auto& [key, number] : known) {
    ASSERT_EQ(this->numbers_.number_of(key.first, key.second), number);
  }
}

}  // namespace
}  // namespace heaptape
