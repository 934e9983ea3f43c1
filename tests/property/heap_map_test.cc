// Whatever happens to a heap, HeapMap agrees with a count by hand.
#include "replayer/heap_map/heap_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "tests/support/seeded_random.h"

namespace heaptape::replayer {
namespace {

using Ranges = std::vector<AddressRange>;

// A heap in plain containers. Its memory lies in a few far-apart areas of 48 pages each.
class PlainHeap {
 public:
  PlainHeap(int granule_log2, uint64_t min_hole_bytes, uint64_t page_bytes)
      : granule_(uint64_t{1} << granule_log2), min_hole_(min_hole_bytes), page_(page_bytes) {}

  void commit(AddressRange range) {
    for (uint64_t at = range.begin; at < range.end; at += page_) pages_.insert(at);
  }
  void decommit(AddressRange range) {
    for (uint64_t at = range.begin; at < range.end; at += page_) pages_.erase(at);
  }
  bool is_free(uint64_t address, uint64_t bytes) const {
    const AddressRange range = occupied_by(address, bytes);
    const auto next = blocks_.lower_bound(range.end);
    if (next == blocks_.begin()) return true;
    const auto& [begin, usable_bytes] = *std::prev(next);
    return occupied_by(begin, usable_bytes).end <= range.begin;
  }

  Ranges regions() const {
    Ranges regions;
    for (const uint64_t page : pages_) {
      if (regions.empty() || regions.back().end != page) regions.push_back({page, page});
      regions.back().end += page_;
    }
    return regions;
  }
  // Every gap of a region, its top last; the top may be empty.
  Ranges gaps_of(AddressRange region) const {
    Ranges gaps;
    uint64_t at = region.begin;
    for (const auto& [address, usable_bytes] : blocks_) {
      const AddressRange block = occupied_by(address, usable_bytes);
      if (block.end <= at || block.begin >= region.end) continue;
      if (block.begin > at) gaps.push_back({at, block.begin});
      at = std::min(block.end, region.end);
    }
    gaps.push_back({at, region.end});
    return gaps;
  }
  Ranges holes() const {
    Ranges holes;
    for (const AddressRange region : regions()) {
      Ranges gaps = gaps_of(region);
      gaps.pop_back();
      for (const AddressRange gap : gaps) {
        if (gap.begin == region.begin && gap.bytes() < 4096) continue;
        if (gap.bytes() >= min_hole_) holes.push_back(gap);
      }
    }
    return holes;
  }
  uint64_t top_bytes() const {
    uint64_t bytes = 0;
    for (const AddressRange region : regions()) bytes += gaps_of(region).back().bytes();
    return bytes;
  }
  uint64_t committed_bytes() const { return pages_.size() * page_; }

  std::map<uint64_t, uint64_t>& blocks() { return blocks_; }  // address -> usable bytes
  uint64_t page_bytes() const { return page_; }

 private:
  AddressRange occupied_by(uint64_t address, uint64_t usable_bytes) const {
    const uint64_t end = address + std::max<uint64_t>(usable_bytes, 1);
    return {address / granule_ * granule_, (end + granule_ - 1) / granule_ * granule_};
  }

  uint64_t granule_;
  uint64_t min_hole_;
  uint64_t page_;
  std::set<uint64_t> pages_;
  std::map<uint64_t, uint64_t> blocks_;
};

HoleStats stats_of(const Ranges& holes, uint64_t top_bytes) {
  HoleStats stats;
  stats.top_bytes = top_bytes;
  for (const AddressRange hole : holes) {
    ++stats.count;
    stats.bytes += hole.bytes();
    stats.largest = std::max(stats.largest, hole.bytes());
    stats.over_64_kib += hole.bytes() >= 65536;
    stats.over_1_mib += hole.bytes() >= 1048576;
    stats.over_8_mib += hole.bytes() >= 8388608;
    HoleBucket& bucket = stats.histogram[63 - static_cast<size_t>(std::countl_zero(hole.bytes()))];
    ++bucket.count;
    bucket.bytes += hole.bytes();
  }
  return stats;
}

uint64_t common_bytes(const Ranges& holes, const Ranges& absent) {
  uint64_t bytes = 0;
  for (const AddressRange hole : holes) {
    for (const AddressRange range : absent) {
      const uint64_t begin = std::max(hole.begin, range.begin);
      const uint64_t end = std::min(hole.end, range.end);
      if (begin < end) bytes += end - begin;
    }
  }
  return bytes;
}

// Random operations, the same on both.
class HeapPair {
 public:
  HeapPair(tests::Random& random, int granule_log2)
      : random_(random),
        granule_(uint64_t{1} << granule_log2),
        plain_(granule_log2, 2 * granule_, uint64_t{4096} << random.below(10)),
        map_(granule_log2, 2 * granule_) {}

  void step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
        return commit(true);
      case 2:
        return commit(false);
      case 3:
      case 4:
        return remove();
      case 5:
      case 6:
        return resize();
      default:
        return place();
    }
  }
  void expect_the_same_holes() {
    const Ranges holes = plain_.holes();
    ASSERT_EQ(map_.holes(), stats_of(holes, plain_.top_bytes()));
    ASSERT_EQ(map_.committed_bytes(), plain_.committed_bytes());
  }
  void expect_the_same_map() {
    const Ranges holes = plain_.holes();
    const Ranges absent = some_pages();
    ASSERT_EQ(map_.scan_holes(), holes);
    ASSERT_EQ(map_.regions(), plain_.regions());
    ASSERT_EQ(map_.absent_hole_bytes(absent), common_bytes(holes, absent));
  }

 private:
  static constexpr uint64_t kPages = 48;
  // The second lies across a border of leaves.
  static constexpr uint64_t kAreas[] = {0x555555559000, 0x7f00ffff8000, 0x7f8000000000};

  uint64_t page_bytes() const { return plain_.page_bytes(); }
  uint64_t area() { return kAreas[random_.below(3)] / page_bytes() * page_bytes(); }
  AddressRange pages() {
    const uint64_t begin = area() + random_.below(kPages) * page_bytes();
    return {begin, begin + (1 + random_.below(random_.chance(3) ? kPages : 4)) * page_bytes()};
  }
  Ranges some_pages() {
    Ranges ranges;
    for (const uint64_t area : kAreas) {
      uint64_t at = area / page_bytes() * page_bytes();
      for (uint64_t page = 0; page < kPages; ++page, at += page_bytes()) {
        if (random_.chance(3)) ranges.push_back({at, at + page_bytes()});
      }
    }
    return ranges;
  }
  // Most blocks are small, many lie beside one another, some are not aligned.
  uint64_t some_bytes() {
    const uint64_t limit = random_.chance(4) ? 20 * page_bytes() : 20 * granule_;
    return random_.below(random_.chance(20) ? 1 : limit);
  }
  uint64_t some_address() {
    auto& blocks = plain_.blocks();
    const auto next = blocks.lower_bound(area() + random_.below((kPages + 4) * page_bytes()));
    if (next != blocks.end() && random_.chance(2)) {
      const uint64_t end = next->first + std::max<uint64_t>(next->second, 1);
      return (end + granule_ - 1) / granule_ * granule_ + random_.below(4) * granule_;
    }
    const uint64_t mask = random_.chance(8) ? 0 : granule_ - 1;
    return (area() + random_.below((kPages + 4) * page_bytes())) & ~mask;
  }

  void commit(bool on) {
    const AddressRange range = pages();
    on ? plain_.commit(range) : plain_.decommit(range);
    on ? map_.commit(range) : map_.decommit(range);
  }
  void place() {
    const uint64_t address = some_address();
    const uint64_t bytes = some_bytes();
    if (!plain_.is_free(address, bytes)) return;
    plain_.blocks()[address] = bytes;
    map_.place(address, bytes);
  }
  std::map<uint64_t, uint64_t>::iterator some_block() {
    const auto block = plain_.blocks().lower_bound(some_address());
    return block == plain_.blocks().end() ? plain_.blocks().begin() : block;
  }
  void remove() {
    if (plain_.blocks().empty()) return;
    const auto block = some_block();
    map_.remove(block->first, block->second);
    plain_.blocks().erase(block);
  }
  void resize() {
    if (plain_.blocks().empty()) return;
    const auto block = some_block();
    const auto [address, old_bytes] = *block;
    const uint64_t new_bytes = some_bytes();
    plain_.blocks().erase(block);
    const bool fits = plain_.is_free(address, new_bytes);
    plain_.blocks()[address] = fits ? new_bytes : old_bytes;
    if (fits) map_.resize(address, old_bytes, new_bytes);
  }

  tests::Random& random_;
  uint64_t granule_;
  PlainHeap plain_;
  HeapMap map_;
};

class HeapMapProperty : public testing::TestWithParam<int> {};

TEST_P(HeapMapProperty, AgreesWithACountByHandAfterEveryEvent) {
  tests::SeededRandom random;
  for (int round = 0; round < 40; ++round) {
    HeapPair heap(random, GetParam());
    for (int i = 0; i < 400; ++i) {
      heap.step();
      ASSERT_NO_FATAL_FAILURE(heap.expect_the_same_holes()) << "round " << round << ", " << i;
      if (i % 40 != 0) continue;
      ASSERT_NO_FATAL_FAILURE(heap.expect_the_same_map()) << "round " << round << ", " << i;
    }
  }
}

// Blocks that overlap, and calls for blocks that are not there, as damaged recordings give.
void disturb(HeapMap& map, tests::Random& random) {
  const uint64_t address = 0x7f00fff00000 + random.below(1 << 21);
  const uint64_t bytes = random.next() >> (random.chance(10) ? 0 : 50 + random.below(12));
  const AddressRange range = {address & ~uint64_t{4095},
                              (address + bytes % 100000) & ~uint64_t{4095}};
  switch (random.below(6)) {
    case 0:
      return map.commit(range);
    case 1:
      return map.decommit(range);
    case 2:
      return map.remove(address, bytes);
    case 3:
      map.resize(address, bytes, random.below(5000));
      return;
    default:
      map.place(address, bytes);
  }
}

TEST_P(HeapMapProperty, StaysTrueToItselfUnderSenselessCalls) {
  tests::SeededRandom random;
  HeapMap map(GetParam(), 32);
  for (int i = 0; i < 20000; ++i) {
    disturb(map, random);
    if (i % 100 != 0) continue;
    ASSERT_EQ(map.holes(), stats_of(map.scan_holes(), map.holes().top_bytes)) << "call " << i;
  }
  map.decommit({0, UINT64_MAX});
  EXPECT_EQ(map.holes(), HoleStats{});
}

INSTANTIATE_TEST_SUITE_P(Granules, HeapMapProperty, testing::Values(3, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace heaptape::replayer
