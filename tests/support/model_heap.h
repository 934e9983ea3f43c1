// A model and the expected state of its blocks and memory: the verbs of model tests. Each call is
// checked against every allocator's obligations to its program and the engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocators/models/model.h"
#include "tests/support/range_set.h"

namespace heaptape::tests {

template <allocators::AllocatorModel M>
class ModelHeap {
 public:
  // Options as "name=value"; they must be valid.
  explicit ModelHeap(const std::vector<std::string>& options = {})
      : model_(space_, *base::parse_values("the model", M::parameters(), options)) {
    apply_changes();
  }

  // The address of a new block, 0 if there is no room.
  uint64_t allocate(uint64_t bytes, uint64_t alignment = 0) {
    const allocators::Placement placed = model_.allocate(bytes, alignment);
    apply_changes();
    return accept(placed, bytes, std::max<uint64_t>(alignment, 1));
  }

  uint64_t allocate_zeroed(uint64_t bytes) {
    const allocators::Placement placed = model_.allocate_zeroed(bytes);
    apply_changes();
    return accept(placed, bytes, 1);
  }

  std::vector<uint64_t> allocate_many(size_t count, uint64_t bytes) {
    std::vector<uint64_t> blocks(count);
    for (uint64_t& block : blocks) block = allocate(bytes);
    return blocks;
  }

  void release(uint64_t address) {
    ASSERT_EQ(live_.erase(address), 1u);
    model_.release(address);
    apply_changes();
  }

  void release_all(const std::vector<uint64_t>& addresses) {
    for (const uint64_t address : addresses) release(address);
  }

  // Where the block is now; 0 if there was no room, and then it has not moved.
  uint64_t reallocate(uint64_t address, uint64_t bytes) {
    const auto old = *live_.find(address);
    live_.erase(address);
    const allocators::Placement placed = model_.reallocate(address, bytes);
    apply_changes();
    if (placed.address == 0) live_.insert(old);
    return accept(placed, bytes, 1);
  }

  void give_back_memory() {
    model_.give_back_memory();
    apply_changes();
  }

  allocators::SteeringOutcome steer(schema::SteeringOp op, int64_t first, int64_t second = 0) {
    const auto outcome = model_.steer({.op = op, .first = first, .second = second});
    apply_changes();
    return outcome;
  }

  M& model() { return model_; }
  uint64_t usable(uint64_t address) const { return live_.at(address) - address; }
  const std::map<uint64_t, uint64_t>& live() const { return live_; }  // address -> usable end
  uint64_t committed_bytes() const { return committed_.total_bytes(); }
  std::vector<allocators::AddressRange> absent() const { return model_.absent(); }

  // How much of the range is absent.
  uint64_t absent_bytes(uint64_t address, uint64_t bytes) const {
    uint64_t sum = 0;
    for (const allocators::AddressRange& range : model_.absent()) {
      const uint64_t begin = std::max(range.begin, address);
      const uint64_t end = std::min(range.end, address + bytes);
      if (begin < end) sum += end - begin;
    }
    return sum;
  }

  // The rules of the commits in the last call that took memory from the system, joined by "; ".
  std::string rules() const {
    std::string text;
    for (const allocators::CommitRule& rule : rules_) {
      text += (text.empty() ? "" : "; ") + allocators::text_of(rule);
    }
    return text;
  }

  uint64_t counter(const std::string& name) const {
    for (const allocators::Counter& counter : model_.counters()) {
      if (counter.name == name) return counter.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  // Too slow for every call.
  void check_absent() const {
    std::map<uint64_t, uint64_t> written;  // address -> end of the requested bytes
    for (const auto& [address, unused] : live_) written[address] = address + wanted_.at(address);
    uint64_t end = 0;
    for (const allocators::AddressRange& range : model_.absent()) {
      ASSERT_TRUE(range.begin < range.end && range.begin >= end) << "not ascending";
      ASSERT_TRUE(committed_.contains(range)) << std::hex << range.begin << " is not committed";
      ASSERT_FALSE(touches(written, range)) << std::hex << range.begin << " is in use";
      end = range.end;
    }
  }

 private:
  uint64_t accept(const allocators::Placement& placed, uint64_t bytes, uint64_t alignment) {
    if (placed.address == 0) return 0;
    const allocators::AddressRange block{placed.address, placed.address + placed.usable_bytes};
    EXPECT_GE(placed.usable_bytes, bytes);
    EXPECT_EQ(block.begin % alignment, 0u);
    EXPECT_EQ(block.begin % (uint64_t{1} << model_.traits().granule_log2), 0u);
    EXPECT_FALSE(touches_live(block)) << std::hex << block.begin << " is in use";
    EXPECT_TRUE(committed_.contains(block)) << std::hex << block.begin << " is not committed";
    live_.emplace(block.begin, block.end);
    wanted_[block.begin] = bytes;
    return block.begin;
  }

  static bool touches(const std::map<uint64_t, uint64_t>& blocks,
                      const allocators::AddressRange& range) {
    const auto after = blocks.lower_bound(range.end);
    return after != blocks.begin() && std::prev(after)->second > range.begin;
  }
  bool touches_live(const allocators::AddressRange& range) const { return touches(live_, range); }

  void apply_changes() {
    const auto is_commit = [](const allocators::RegionEvent& change) {
      return change.kind == allocators::RegionEvent::Kind::kCommit;
    };
    if (std::ranges::any_of(space_.events(), is_commit)) rules_.clear();
    for (const allocators::RegionEvent& change : space_.events()) {
      if (is_commit(change)) {
        EXPECT_TRUE(committed_.add(change.range)) << "was committed in part";
        rules_.push_back(change.rule);
      } else {
        EXPECT_TRUE(committed_.remove(change.range)) << "was not committed in full";
        EXPECT_FALSE(touches_live(change.range)) << "a block lost its memory";
      }
    }
    space_.events().clear();
  }

  allocators::AddressSpace space_;
  M model_;
  std::map<uint64_t, uint64_t> live_;
  std::map<uint64_t, uint64_t> wanted_;  // bytes of the last block at an address
  RangeSet committed_;
  std::vector<allocators::CommitRule> rules_;
};

}  // namespace heaptape::tests
