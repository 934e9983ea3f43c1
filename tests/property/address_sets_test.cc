// Sets and maps of addresses against plain containers, in a few cells around the places where their
// storage changes: every range begins, ends or touches where another does, or where a leaf does.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/address/address_map.h"
#include "base/address/address_shadow.h"
#include "base/address/edge_bitmap.h"
#include "base/address/overlap.h"
#include "base/address/region_set.h"
#include "tests/support/seeded_random.h"

namespace heaptape::base {
namespace {

constexpr uint64_t kCells = 12;

AddressRange any_range(tests::Random& random) {
  const uint64_t begin = random.below(kCells + 1);
  return {begin, begin + random.below(kCells + 1 - begin)};
}

// The ranges of cells that are set.
std::vector<AddressRange> ranges_of(const std::array<bool, kCells>& cells) {
  std::vector<AddressRange> ranges;
  for (uint64_t at = 0; at < kCells; ++at) {
    if (!cells[at]) continue;
    if (ranges.empty() || ranges.back().end != at) ranges.push_back({at, at});
    ++ranges.back().end;
  }
  return ranges;
}

TEST(RegionSetOfFewCells, IsThatOfAnArray) {
  tests::SeededRandom random;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    RegionSet regions;
    std::array<bool, kCells> cells{};
    for (int i = 0; i < 30; ++i) {
      const AddressRange range = any_range(random);
      const bool is_set = random.chance(2);
      is_set ? regions.add(range) : regions.remove(range);
      std::fill(cells.begin() + range.begin, cells.begin() + range.end, is_set);
      const std::vector<AddressRange> expected = ranges_of(cells);
      ASSERT_EQ(regions.ranges(), expected);
      ASSERT_EQ(regions.bytes(), static_cast<uint64_t>(std::ranges::count(cells, true)));
      const uint64_t at = random.below(kCells);
      ASSERT_EQ(regions.find(at).bytes() != 0, cells[at]);
      const AddressRange asked = any_range(random);
      const auto set = std::count(cells.begin() + asked.begin, cells.begin() + asked.end, true);
      ASSERT_EQ(regions.overlaps(asked), set > 0);
      ASSERT_EQ(regions.covers(asked), static_cast<uint64_t>(set) == asked.bytes());
      std::vector<AddressRange> touching;
      regions.for_each_touching(asked, [&](AddressRange region) { touching.push_back(region); });
      std::vector<AddressRange> expected_touching;
      for (const AddressRange& region : expected) {
        if (region.begin <= asked.end && region.end >= asked.begin)
          expected_touching.push_back(region);
      }
      ASSERT_EQ(touching, expected_touching);
    }
  }
}

TEST(AddressMapOfFewCells, IsThatOfAnArray) {
  tests::SeededRandom random;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    AddressMap<int> map;
    std::array<int, kCells> cells{};
    for (int i = 1; i <= 30; ++i) {
      const AddressRange range = any_range(random);
      map.assign(range, i);
      std::fill(cells.begin() + range.begin, cells.begin() + range.end, i);
      for (uint64_t at = 0; at < kCells; ++at) {
        const int* const value = map.find(at);
        ASSERT_EQ(value == nullptr ? 0 : *value, cells[at]) << at;
      }
    }
  }
}

TEST(OverlapOfFewCells, CountsThoseInBoth) {
  tests::SeededRandom random;
  for (int round = 0; round < 2000 && !HasFailure(); ++round) {
    std::array<bool, kCells> cells{};
    for (bool& cell : cells) cell = random.chance(2);
    std::vector<AddressRange> parts;
    for (uint64_t at = kCells; at-- > 0;) {
      parts.push_back({at, at + cells[at]});
    }
    sort_and_join(parts);
    ASSERT_EQ(parts, ranges_of(cells));
    Overlap overlap(parts);
    std::vector<AddressRange> asked(4);
    for (AddressRange& range : asked) range = any_range(random);
    std::ranges::sort(asked, {}, &AddressRange::begin);
    for (const AddressRange& range : asked) {
      const auto set = std::count(cells.begin() + range.begin, cells.begin() + range.end, true);
      ASSERT_EQ(overlap.bytes(range), static_cast<uint64_t>(set));
    }
  }
}

// Addresses beside the ends of leaves, most of them multiples of 16.
uint64_t address_at_a_border(tests::Random& random, uint64_t alignment) {
  constexpr uint64_t kBorders[] = {0, kLeafSpan, 7 * kLeafSpan, uint64_t{1} << 47, kAddressLimit};
  const uint64_t border = kBorders[random.below(std::size(kBorders))];
  const uint64_t distance = random.below(10) * alignment;
  if (border == 0) return distance;
  return border == kAddressLimit || random.chance(2) ? border - alignment - distance
                                                     : border + distance;
}

TEST(AddressShadowAtBorders, HasWhatAMapHas) {
  tests::SeededRandom random;
  for (const uint64_t finest : {16, 8, 1}) {
    AddressShadow shadow;
    std::map<uint64_t, uint32_t> expected;
    for (uint32_t i = 0; i < 3000; ++i) {
      const uint64_t alignment = random.chance(8) ? finest : 16;
      const uint64_t address = address_at_a_border(random, alignment) + (i == 0 ? 16 : 0);
      const auto found = expected.find(address);
      const uint32_t number = found == expected.end() ? AddressShadow::kNone : found->second;
      ASSERT_EQ(shadow.find(address), number) << std::hex << address;
      switch (random.below(3)) {
        case 0:
          shadow.set(address, i);
          expected[address] = i;
          break;
        case 1:
          ASSERT_EQ(shadow.take(address), number) << std::hex << address;
          expected.erase(address);
          break;
        default:
          if (number == AddressShadow::kNone) break;
          shadow.clear(address);
          expected.erase(address);
      }
    }
    for (const auto& [address, number] : expected) ASSERT_EQ(shadow.find(address), number);
  }
}

// An EdgeBitmap of 16-byte granules, with a set of edges beside it.
class TwoBitmaps {
 public:
  explicit TwoBitmaps(tests::Random& random) : random_(random) {}

  void step() {
    const Edge start = any_edge() & ~Edge{1};
    const Edge end = (start + 1 + 2 * random_.below(6)) | 1;
    if (end >= kAfterAllEdges >> 4) return;
    switch (random_.below(3)) {
      case 0:
        return insert(start, end);
      case 1:
        return erase(start, end);
      default:
        move(end, start + 1 + 2 * random_.below(6));
    }
  }
  void compare() {
    const Edge from = any_edge();
    ASSERT_EQ(bitmap_.contains(from), edges_.contains(from));
    ASSERT_EQ(bitmap_.find_from(from), next(from));
    ASSERT_EQ(bitmap_.find_before(from), before(from));
    const Edge limit = std::max(from, any_edge());
    Edge gap = kAfterAllEdges;
    for (auto at = edges_.lower_bound(from); at != edges_.end() && *at < limit; ++at) {
      if (is_start(*at)) continue;
      // The last one of a leaf may be told though a start follows it.
      if (edges_.contains(*at + 1) && leaf_of(*at) == leaf_of(*at + 1)) continue;
      gap = *at;
      break;
    }
    ASSERT_EQ(bitmap_.find_gap(from, limit), gap);
  }

 private:
  static constexpr int kGranuleLog2 = 4;
  static uint64_t leaf_of(Edge edge) { return edge >> (kLeafSpanLog2 - kGranuleLog2 + 1); }
  Edge any_edge() {
    return (address_at_a_border(random_, 16) >> kGranuleLog2 << 1) + random_.below(2);
  }
  Edge next(Edge from) const {
    const auto found = edges_.lower_bound(from);
    return found == edges_.end() ? kAfterAllEdges : *found;
  }
  Edge before(Edge limit) const {
    const auto found = edges_.lower_bound(limit);
    return found == edges_.begin() ? kBeforeAllEdges : *std::prev(found);
  }
  static std::optional<std::pair<Edge, Edge>> pair_of(const std::optional<EdgeBitmap::Gap>& gap) {
    if (!gap) return std::nullopt;
    return std::pair(gap->before, gap->after);
  }

  // What does not work in one step is done in two, as HeapMap does, unless blocks would overlap.
  void insert(Edge start, Edge end) {
    const bool is_free = is_end(before(start)) && is_start(next(start)) && next(start) > end;
    const bool works = is_free && leaf_of(start) == leaf_of(end);
    const auto expected = std::pair(before(start), next(start));
    ASSERT_EQ(pair_of(bitmap_.insert_block(start, end)),
              works ? std::optional(expected) : std::nullopt);
    if (!is_free) return;
    if (!works) {
      bitmap_.insert(start);
      bitmap_.insert(end);
    }
    edges_.insert({start, end});
  }
  void erase(Edge start, Edge end) {
    const bool is_whole = edges_.contains(start) && next(start + 1) == end;
    const bool works = is_whole && leaf_of(start) == leaf_of(end + 1);
    const auto expected = std::pair(before(start), next(end + 1));
    ASSERT_EQ(pair_of(bitmap_.erase_block(start, end)),
              works ? std::optional(expected) : std::nullopt);
    if (!is_whole) return;
    if (!works) {
      bitmap_.erase(start);
      bitmap_.erase(end);
    }
    edges_.erase(start);
    edges_.erase(end);
  }
  void move(Edge end, Edge new_end) {
    const Edge after = next(end + 1);
    const bool can = edges_.contains(end) && before(end) < new_end && after > new_end;
    const bool works = can && leaf_of(end) == leaf_of(end + 1) && leaf_of(end) == leaf_of(new_end);
    ASSERT_EQ(bitmap_.move_end(end, new_end), works ? std::optional(after) : std::nullopt);
    if (!works) return;
    edges_.erase(end);
    edges_.insert(new_end);
  }

  tests::Random& random_;
  EdgeBitmap bitmap_{kGranuleLog2};
  std::set<Edge> edges_;
};

TEST(EdgeBitmapAtBorders, HasTheEdgesOfASet) {
  tests::SeededRandom random;
  TwoBitmaps bitmaps(random);
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    bitmaps.step();
    bitmaps.compare();
  }
}

}  // namespace
}  // namespace heaptape::base
