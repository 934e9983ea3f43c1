// Whatever a heap looks like, its account closes, and its holes and pins are those of a count by
// hand, granule by granule.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/address/pages.h"
#include "replayer/answers/account.h"
#include "replayer/answers/holes.h"
#include "replayer/answers/pins.h"
#include "tests/support/seeded_random.h"

namespace heaptape::replayer {
namespace {

using base::kPageBytes;
constexpr uint64_t kGranule = 16;

// A random heap of a few regions, and what each of its granules is.
class RandomPicture {
 public:
  // With `Began::kLate` some of it is unseen.
  enum class Began : bool { kWithProgram, kLate };
  explicit RandomPicture(Began began = Began::kWithProgram) : began_(began), map_(4, 32) {
    if (began_ == Began::kLate) picture_.unseen.emplace();
    picture_.at = 10'000;
    uint64_t at = 0x10000;
    for (uint64_t i = 0, regions = 1 + random_.below(4); i < regions; ++i) {
      const uint64_t end = at + kPageBytes * (1 + random_.below(6));
      picture_.regions.push_back({at, end});
      map_.commit({at, end});
      fill({at, end});
      at = end + kPageBytes * (1 + random_.below(2));
    }
    picture_.absent.emplace();
    for (const AddressRange& region : picture_.regions) {
      for (uint64_t page = region.begin; page < region.end; page += kPageBytes) {
        if (random_.chance(4)) picture_.absent->push_back({page, page + kPageBytes});
      }
    }
    base::sort_and_join(*picture_.absent);
    if (picture_.unseen) base::sort_and_join(*picture_.unseen);
  }

  const HeapPicture& picture() const { return picture_; }
  const HeapMap& map() const { return map_; }
  const BlockSums& sums() const { return sums_; }

  bool is_absent(uint64_t address) const {
    return std::ranges::any_of(*picture_.absent, [address](const AddressRange& range) {
      return range.begin <= address && address < range.end;
    });
  }
  // Pages that are there and hold no block but those of `left_out`.
  std::set<uint64_t> free_pages(const std::set<size_t>& left_out = {}) const {
    std::set<uint64_t> pages;
    for (const AddressRange& region : picture_.regions) {
      for (uint64_t page = region.begin; page < region.end; page += kPageBytes) {
        if (!is_absent(page) && !holds_block(page, left_out)) pages.insert(page);
      }
    }
    return pages;
  }

 private:
  void fill(AddressRange region) {
    uint64_t at = region.begin;
    for (;;) {
      if (random_.chance(2)) at += kGranule * random_.below(random_.chance(4) ? 500 : 12);
      const uint64_t bytes = 1 + random_.below(random_.chance(8) ? 6000 : 200);
      const uint64_t end = base::round_up(at + bytes, kGranule);
      if (end > region.end || random_.chance(30)) return;
      if (began_ == Began::kLate && random_.chance(3)) {
        map_.place(at, end - at);
        picture_.unseen->push_back({at, end});
        at = end;
        continue;
      }
      const uint64_t requested = 1 + random_.below(bytes);
      picture_.blocks.push_back({.address = at,
                                 .usable_bytes = bytes,
                                 .requested_bytes = requested,
                                 .birth = 1 + random_.below(picture_.at),
                                 .thread = static_cast<uint32_t>(random_.below(2))});
      map_.place(at, bytes);
      sums_.live_bytes += requested;
      sums_.usable_bytes += bytes;
      sums_.rounding_bytes += end - at - bytes;
      at = end;
    }
  }
  bool holds_block(uint64_t page, const std::set<size_t>& left_out) const {
    for (size_t i = 0; i < picture_.blocks.size(); ++i) {
      const LiveBlock& block = picture_.blocks[i];
      const uint64_t end = base::round_up(block.end(), kGranule);
      if (block.address < page + kPageBytes && end > page && !left_out.contains(i)) return true;
    }
    return false;
  }

  tests::SeededRandom random_;
  const Began began_;
  HeapPicture picture_;
  HeapMap map_;
  BlockSums sums_;
};

constexpr int kHeaps = 300;

Account account_of(const RandomPicture& heap) {
  return take_account(heap.map(), heap.sums(), heap.picture().absent, {}, {});
}

TEST(Account, OfARandomHeapCloses) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap;
    const Account account = account_of(heap);
    EXPECT_EQ(account.unexplained_bytes, 0);
    EXPECT_EQ(account.resident_bytes,
              account.committed_bytes - account.returned_bytes - account.untouched_bytes);
  }
}

TEST(Account, OfARandomHeapCountsThePagesWithoutABlockAsPurgeable) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap;
    EXPECT_EQ(account_of(heap).purgeable_bytes, heap.free_pages().size() * kPageBytes);
  }
}

TEST(PinningBlocks, OfARandomHeapPinAllOfItsHoles) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap;
    uint64_t hole_bytes = 0;
    uint64_t pinned_bytes = 0;
    for (const Hole& hole : find_holes(heap.picture())) hole_bytes += hole.resident_bytes;
    for (const PinningBlock& block : pinning_blocks(heap.picture())) pinned_bytes += block.bytes;
    EXPECT_EQ(pinned_bytes, hole_bytes);
  }
}

TEST(Account, OfARandomHeapHasTheHolesOfTheMap) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap;
    const Account account = account_of(heap);
    uint64_t bytes = 0;
    uint64_t resident_bytes = 0;
    for (const HoleClass& holes : account.holes) {
      bytes += holes.bytes;
      resident_bytes += holes.resident_bytes;
    }
    EXPECT_EQ(bytes, heap.map().holes().bytes);
    EXPECT_EQ(resident_bytes, bytes - heap.map().absent_hole_bytes(*heap.picture().absent));
    EXPECT_EQ(resident_bytes, account.hole_bytes);
  }
}

TEST(FindHoles, OfARandomHeapAreThoseOfTheMap) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap;
    std::vector<AddressRange> ranges;
    for (const Hole& hole : find_holes(heap.picture())) ranges.push_back(hole.range);
    EXPECT_EQ(ranges, heap.map().scan_holes());
  }
}

TEST(FindHoles, NamesTheBlocksBesideEach) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap;
    const auto& blocks = heap.picture().blocks;
    for (const Hole& hole : find_holes(heap.picture())) {
      EXPECT_EQ(blocks[hole.after].address, hole.range.end);
      if (hole.before == kNoBlock) continue;
      EXPECT_EQ(base::round_up(blocks[hole.before].end(), kGranule), hole.range.begin);
    }
  }
}

TEST(BytesBehindPin, AreThePagesThatWouldBeFreeWithoutIt) {
  for (int i = 0; i < kHeaps / 10 && !HasFailure(); ++i) {
    const RandomPicture heap;
    const size_t free_before = heap.free_pages().size();
    for (size_t block = 0; block < heap.picture().blocks.size(); ++block) {
      const size_t free_then = heap.free_pages({block}).size();
      EXPECT_EQ(bytes_behind_pin(heap.picture(), block), (free_then - free_before) * kPageBytes);
    }
  }
}

bool belongs_to(const PinGroup& group, const LiveBlock& block) {
  return block.requested_bytes == group.size_bytes && block.thread == group.thread &&
         block.birth >= group.first_birth && block.birth <= group.last_birth;
}

void expect_count_by_hand(const PinGroup& group, const HeapPicture& picture,
                          const std::vector<Hole>& holes) {
  std::set<size_t> members;
  std::set<uint64_t> counted;
  uint64_t hole_bytes = 0;
  for (const Hole& hole : holes) {
    for (const size_t index : {hole.before, hole.after}) {
      if (index == kNoBlock || !belongs_to(group, picture.blocks[index])) continue;
      members.insert(index);
      if (counted.insert(hole.range.begin).second) hole_bytes += hole.range.bytes();
    }
  }
  EXPECT_EQ(group.count, members.size());
  EXPECT_EQ(group.hole_bytes, hole_bytes);
}

TEST(RankPins, CountsEachHoleOnceAGroup) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap;
    const std::vector<Hole> holes = find_holes(heap.picture());
    for (const PinGroup& group : rank_pins(heap.picture(), holes, SIZE_MAX)) {
      expect_count_by_hand(group, heap.picture(), holes);
    }
  }
}

TEST(RankPins, PutsEveryBlockBesideAHoleIntoOneGroup) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap;
    const std::vector<Hole> holes = find_holes(heap.picture());
    std::set<size_t> beside;
    for (const Hole& hole : holes) {
      if (hole.before != kNoBlock) beside.insert(hole.before);
      beside.insert(hole.after);
    }
    std::set<size_t> grouped;
    uint64_t count = 0;
    for (const PinGroup& group : rank_pins(heap.picture(), holes, SIZE_MAX)) {
      EXPECT_EQ(group.blocks.size(), group.count);
      grouped.insert(group.blocks.begin(), group.blocks.end());
      count += group.count;
    }
    EXPECT_EQ(count, beside.size());
    EXPECT_EQ(grouped, beside);
  }
}

// With memory from before the recording.

Account late_account_of(const RandomPicture& heap) {
  return take_account(heap.map(), heap.sums(), {}, {}, {}, heap.picture().unseen);
}

TEST(Account, OfARandomHeapWithUnseenMemoryCloses) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap(RandomPicture::Began::kLate);
    const Account account = late_account_of(heap);
    uint64_t unseen_bytes = 0;
    for (const AddressRange range : *heap.picture().unseen) unseen_bytes += range.bytes();
    EXPECT_EQ(account.late->unseen_bytes, unseen_bytes);
    EXPECT_EQ(account.unexplained_bytes, 0);
  }
}

TEST(FindHoles, OfARandomHeapWithUnseenMemoryAreThoseOfTheMap) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap(RandomPicture::Began::kLate);
    std::vector<AddressRange> ranges;
    LateStart late = *late_account_of(heap).late;
    for (const Hole& hole : find_holes(heap.picture())) {
      ranges.push_back(hole.range);
      if (!hole.is_open()) continue;
      --late.open_holes;
      late.open_hole_bytes -= hole.range.bytes();
    }
    EXPECT_EQ(ranges, heap.map().scan_holes());
    EXPECT_EQ(late.open_holes, 0u);
    EXPECT_EQ(late.open_hole_bytes, 0u);
  }
}

TEST(FindHoles, NamesABlockOrUnseenMemoryBesideEach) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap(RandomPicture::Began::kLate);
    const auto& blocks = heap.picture().blocks;
    const auto is_unseen = [&](uint64_t address) {
      return std::ranges::any_of(*heap.picture().unseen, [address](const AddressRange& range) {
        return range.begin <= address && address < range.end;
      });
    };
    for (const Hole& hole : find_holes(heap.picture())) {
      EXPECT_EQ(hole.unseen.before, is_unseen(hole.range.begin - 1));
      EXPECT_EQ(hole.unseen.after, is_unseen(hole.range.end));
      EXPECT_EQ(hole.unseen.after, hole.after == kNoBlock);
      if (hole.after != kNoBlock) {
        EXPECT_EQ(blocks[hole.after].address, hole.range.end);
      }
      if (hole.before == kNoBlock) continue;
      EXPECT_FALSE(hole.unseen.before);
      EXPECT_EQ(base::round_up(blocks[hole.before].end(), kGranule), hole.range.begin);
    }
  }
}

TEST(PinningBlocks, OfARandomHeapPinWhatIsNotBesideUnseenMemory) {
  for (int i = 0; i < kHeaps && !HasFailure(); ++i) {
    const RandomPicture heap(RandomPicture::Began::kLate);
    uint64_t left = 0;
    for (const Hole& hole : find_holes(heap.picture())) {
      const uint64_t half = hole.resident_bytes / 2;
      const bool is_first = hole.before == kNoBlock && !hole.unseen.before;
      if (hole.before != kNoBlock) left += half;
      if (hole.after != kNoBlock)
        left += is_first ? hole.resident_bytes : hole.resident_bytes - half;
      EXPECT_EQ(pin_of(heap.picture(), hole).block == kNoBlock, hole.is_open());
    }
    for (const PinningBlock& block : pinning_blocks(heap.picture())) left -= block.bytes;
    EXPECT_EQ(left, 0u);
  }
}

}  // namespace
}  // namespace heaptape::replayer
