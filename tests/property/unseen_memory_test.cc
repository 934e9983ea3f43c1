// Whatever happens to a heap whose beginning is missing, its unseen memory, its holes and its tops
// are those of a count by hand, granule by granule.
#include "replayer/heap_map/unseen_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tests/support/seeded_random.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kGranuleBytes = 16;
constexpr uint64_t kMinHoleBytes = 32;
constexpr uint64_t kBytesOfPage = 4096;
constexpr uint64_t kPagesOfHeap = 12;
constexpr uint64_t kFirstAddress = 0x40'0000 - 6 * kBytesOfPage;  // the edges lie in two leaves
constexpr size_t kGranules = kPagesOfHeap * kBytesOfPage / kGranuleBytes;

// What each granule is.
class PlainGranules {
 public:
  void commit(AddressRange range, bool is_unseen) {
    for (size_t i = index(range.begin); i < index(range.end); ++i) {
      if (is_unseen && !blocks_[i]) unseen_[i] = true;
      committed_[i] = true;
    }
  }
  void decommit(AddressRange range) {
    for (size_t i = index(range.begin); i < index(range.end); ++i) {
      unseen_[i] = committed_[i] = false;
    }
  }
  bool is_committed(AddressRange range) const {
    return std::all_of(at(committed_, range.begin), at(committed_, range.end),
                       [](bool is) { return is; });
  }
  bool is_free(AddressRange range) const {
    return std::none_of(at(blocks_, range.begin), at(blocks_, range.end),
                        [](bool is) { return is; });
  }
  void place(AddressRange range) {
    uncover(range);
    for (size_t i = index(range.begin); i < index(range.end); ++i) blocks_[i] = true;
  }
  void remove(AddressRange range) {
    for (size_t i = index(range.begin); i < index(range.end); ++i) blocks_[i] = false;
  }

  std::vector<AddressRange> unseen() const {
    std::vector<AddressRange> ranges;
    for (size_t i = 0; i < kGranules; ++i) {
      if (unseen_[i]) extend(ranges, i);
    }
    return ranges;
  }
  // The gaps of all regions; `tops`: those that reach the end of theirs.
  std::vector<AddressRange> holes(uint64_t& top_bytes) const {
    std::vector<AddressRange> holes;
    top_bytes = 0;
    for (size_t i = 0; i < kGranules; ++i) {
      if (!is_gap(i)) continue;
      const size_t begin = i;
      while (i < kGranules && is_gap(i)) ++i;
      const AddressRange gap{address(begin), address(i)};
      const bool is_first = begin == 0 || !committed_[begin - 1];
      if (i == kGranules || !committed_[i]) {
        top_bytes += gap.bytes();
      } else if (gap.bytes() >= kMinHoleBytes && !(is_first && gap.bytes() <= kMaxHeaderBytes)) {
        holes.push_back(gap);
      }
    }
    return holes;
  }

 private:
  using Flags = std::vector<bool>;

  static size_t index(uint64_t address) { return (address - kFirstAddress) / kGranuleBytes; }
  static uint64_t address(size_t index) { return kFirstAddress + index * kGranuleBytes; }
  static Flags::const_iterator at(const Flags& flags, uint64_t address) {
    return flags.begin() + static_cast<Flags::difference_type>(index(address));
  }
  static void extend(std::vector<AddressRange>& ranges, size_t i) {
    if (ranges.empty() || ranges.back().end != address(i)) {
      ranges.push_back({address(i), address(i)});
    }
    ranges.back().end += kGranuleBytes;
  }
  bool is_gap(size_t i) const { return committed_[i] && !blocks_[i] && !unseen_[i]; }
  // A stretch that loses its part in the block loses also what is too small for another block.
  void uncover(AddressRange range) {
    const size_t first = index(range.begin);
    const size_t last = index(range.end);
    size_t begin = first;
    while (unseen_[first] && begin > 0 && unseen_[begin - 1]) --begin;
    size_t end = last;
    while (unseen_[last - 1] && end < kGranules && unseen_[end]) ++end;
    const auto clear = [this](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) unseen_[i] = false;
    };
    clear(first, last);
    if ((first - begin) * kGranuleBytes < kMinHoleBytes) clear(begin, first);
    if ((end - last) * kGranuleBytes < kMinHoleBytes) clear(last, end);
  }

  Flags committed_ = Flags(kGranules);
  Flags unseen_ = Flags(kGranules);
  Flags blocks_ = Flags(kGranules);
};

class HeapTwice {
 public:
  void step() {
    switch (random_.below(8)) {
      case 0:
        return commit();
      case 1:
        return random_.chance(3) ? decommit() : free();
      case 2:
        return resize();
      case 3:
      case 4:
        return free();
      default:
        return place();
    }
  }
  void expect_equal() const {
    uint64_t top_bytes = 0;
    const std::vector<AddressRange> holes = plain_.holes(top_bytes);
    EXPECT_EQ(unseen_.ranges(), plain_.unseen());
    EXPECT_EQ(map_.scan_holes(), holes);
    EXPECT_EQ(map_.holes().count, holes.size());
    EXPECT_EQ(map_.holes().top_bytes, top_bytes);
    for (const AddressRange hole : holes) {
      EXPECT_EQ(unseen_.is_beside(hole), unseen_sides(unseen_.ranges(), hole).any());
    }
  }

 private:
  AddressRange pages() {
    const uint64_t first = random_.below(kPagesOfHeap);
    const uint64_t count = 1 + random_.below(kPagesOfHeap - first);
    return {kFirstAddress + first * kBytesOfPage, kFirstAddress + (first + count) * kBytesOfPage};
  }
  void commit() {
    const AddressRange range = pages();
    const bool is_unseen = random_.chance(2);
    // As an allocator's answer has it: all of unseen memory is new.
    for (uint64_t at = range.begin; at < range.end; at += kBytesOfPage) {
      const AddressRange page{at, at + kBytesOfPage};
      if (is_unseen && map_.holds_any_of(page)) continue;
      map_.commit(page);
      if (is_unseen) unseen_.add(page);
      plain_.commit(page, is_unseen);
    }
  }
  void decommit() {
    const AddressRange range = pages();
    unseen_.give_back(range);
    map_.decommit(range);
    plain_.decommit(range);
  }
  void place() {
    uint64_t begin = kFirstAddress + kGranuleBytes * random_.below(kGranules - 512);
    uint64_t usable = 1 + random_.below(random_.chance(6) ? 6000 : 200);
    // Often such that little of a stretch remains.
    const std::vector<AddressRange> stretches = unseen_.ranges();
    if (!stretches.empty() && random_.chance(2)) {
      const AddressRange stretch = stretches[random_.below(stretches.size())];
      begin = stretch.begin + kGranuleBytes * random_.below(4);
      const uint64_t left = kGranuleBytes * random_.below(4);
      if (stretch.end <= begin + left) return;
      if (random_.chance(2)) usable = stretch.end - left - begin;
      if (begin + usable > kFirstAddress + kPagesOfHeap * kBytesOfPage) return;
    }
    const AddressRange range{begin,
                             (begin + usable + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes};
    if (!plain_.is_free(range)) return;
    unseen_.hand_out(begin, usable);
    EXPECT_TRUE(map_.place(begin, usable));
    plain_.place(range);
    blocks_[begin] = usable;
  }
  void free() {
    if (blocks_.empty()) return;
    const auto block = std::next(blocks_.begin(), static_cast<long>(random_.below(blocks_.size())));
    map_.remove(block->first, block->second);
    plain_.remove(range_of(*block));
    blocks_.erase(block);
  }
  void resize() {
    if (blocks_.empty()) return;
    const auto block = std::next(blocks_.begin(), static_cast<long>(random_.below(blocks_.size())));
    const auto old = range_of(*block);
    const std::pair<const uint64_t, uint64_t> resized{block->first, 1 + random_.below(400)};
    const AddressRange range = range_of(resized);
    if (range.end > kFirstAddress + kPagesOfHeap * kBytesOfPage) return;
    if (range.end > old.end && !plain_.is_free({old.end, range.end})) return;
    unseen_.hand_out(resized.first, resized.second);
    EXPECT_TRUE(map_.resize(block->first, block->second, resized.second));
    plain_.remove(old);
    plain_.place(range);
    block->second = resized.second;
  }
  static AddressRange range_of(const std::pair<const uint64_t, uint64_t>& block) {
    return {block.first,
            (block.first + block.second + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes};
  }

  tests::SeededRandom random_;
  PlainGranules plain_;
  HeapMap map_{4, kMinHoleBytes};
  UnseenMemory unseen_{map_, kMinHoleBytes};
  std::map<uint64_t, uint64_t> blocks_;  // address -> usable bytes
};

// As a hostile tape has them. What is wrong then ends with the blocks and their memory.
TEST(UnseenMemory, OutlivesBlocksThatOverlap) {
  tests::SeededRandom random;
  for (int i = 0; i < 60; ++i) {
    HeapMap map(4, kMinHoleBytes);
    UnseenMemory unseen(map, kMinHoleBytes);
    const AddressRange all{kFirstAddress, kFirstAddress + kPagesOfHeap * kBytesOfPage};
    std::vector<AddressRange> blocks;
    for (int step = 0; step < 300; ++step) {
      const uint64_t begin = all.begin + random.below(all.bytes());
      if (random.chance(8)) {
        const uint64_t page = begin / kBytesOfPage * kBytesOfPage;
        map.commit({page, page + kBytesOfPage});
        unseen.add({page, page + kBytesOfPage});
      } else if (random.chance(2) || blocks.empty()) {
        blocks.push_back({begin, begin + random.below(9000)});
        unseen.hand_out(begin, blocks.back().bytes());
        map.place(begin, blocks.back().bytes());
      } else {
        const size_t block = random.below(blocks.size());
        map.remove(blocks[block].begin, blocks[block].bytes());
        blocks.erase(blocks.begin() + static_cast<long>(block));
      }
    }
    for (const AddressRange block : blocks) map.remove(block.begin, block.bytes());
    unseen.give_back(all);
    map.decommit(all);
    EXPECT_EQ(unseen.bytes(), 0u);
    EXPECT_EQ(map.holes(), HoleStats());
  }
}

TEST(UnseenMemory, OfRandomHeapsIsThatOfACountByHand) {
  for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
    HeapTwice heaps;
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
      heaps.step();
      heaps.expect_equal();
    }
  }
}

}  // namespace
}  // namespace heaptape::replayer
