#include "allocators/models/foresight/page_heap.h"

#include <algorithm>

#include "base/check.h"

namespace heaptape::allocators::foresight {
namespace {

using textbook::Hole;
using textbook::HoleTree;

// Keys hold a tick, or a length, above the number of a page. Page numbers begin at 1.
constexpr int kNumberBits = 64 - kTickBits;
constexpr uint64_t kFirstPage = kModelBase - kPageBytes;
static_assert((kWrapperBase - kFirstPage) >> kPageLog2 < uint64_t{1} << kNumberBits);

uint64_t page_of(uint64_t key) {
  return kFirstPage + ((key & ((uint64_t{1} << kNumberBits) - 1)) << kPageLog2);
}

uint64_t granules_of(uint64_t bytes) {
  return bytes >> kGranuleLog2;
}

uint32_t free_at_back(const GranuleBits& used) {
  return kPageGranules - used.last_end(kPageGranules, true);
}

}  // namespace

struct PageHeap::Edges {
  Edges(uint64_t address, uint64_t bytes)
      : begin(address), end(address + bytes), first(page_down(address)), last(page_down(end - 1)) {}

  // Calls visit(page, begin, end) with the granules of the block in it, each page once.
  template <typename Visit>
  void for_each(Visit visit) const {
    uint64_t before = 0;
    for (const uint64_t page : {first, first + kPageBytes, last - kPageBytes, last}) {
      if (page <= before || page < first || page > last) continue;
      before = page;
      visit(page, static_cast<uint32_t>(granules_of(std::max(begin, page) - page)),
            static_cast<uint32_t>(granules_of(std::min(end - page, kPageBytes))));
    }
  }

  uint64_t begin;
  uint64_t end;
  uint64_t first;
  uint64_t last;
};

PageHeap::PageHeap(AddressSpace& space, PageOrder order) : space_(space), order_(order) {
  gaps_.insert({kModelBase, kWrapperBase});
}

const GranuleBits& PageHeap::used(uint64_t page) const {
  static constexpr GranuleBits kNone{};
  const Page* const found = pages_.find(page);
  return found == nullptr ? kNone : found->used;
}

uint64_t PageHeap::key(uint64_t page, Tick death, uint64_t granules) const {
  const uint64_t number = (page - kFirstPage) >> kPageLog2;
  switch (order_) {
    case PageOrder::kAddress:
      return number;
    case PageOrder::kRoom:
      return std::min<uint64_t>(granules, kNever) << kNumberBits | number;
    case PageOrder::kDeath:
      break;
  }
  return uint64_t{death} << kNumberBits | number;
}

uint64_t PageHeap::key_at(Tick death) const {
  return order_ == PageOrder::kDeath ? key(kFirstPage, death, 0) : 0;
}

std::optional<Candidate> PageHeap::candidate(const Hole& hole) const {
  if (hole.bytes == 0) return std::nullopt;
  const uint64_t page = page_of(hole.address);
  return Candidate{page, pages_.find(page)->death, hole.bytes * kGranuleBytes, hole.address};
}

std::optional<Candidate> PageHeap::first_from(Room room, uint64_t bytes, uint64_t from) {
  uint64_t skipped = 0;
  return candidate(sorted(room).lowest_fit_from(from, granules_of(bytes), skipped).hole);
}

std::optional<Candidate> PageHeap::last_before(Room room, uint64_t bytes, uint64_t before) {
  return candidate(sorted(room).highest_fit_before(before, granules_of(bytes)));
}

template <typename Visit>
void PageHeap::for_each_run(uint64_t page, Visit visit) const {
  const GranuleBits& bits = used(page);
  for (uint32_t begin = bits.next(0, false); begin < kPageGranules;) {
    uint32_t end = bits.next(begin, true);
    const uint32_t after = bits.next(end, false);
    if (end == kPageGranules) {
      const GranuleBits& next = used(page + kPageBytes);
      if (!next.none()) end += next.next(0, true);
    }
    visit(begin, end);
    begin = after;
  }
}

uint64_t PageHeap::place_in_run(uint64_t page, const NewBlock& block) const {
  uint64_t place = 0;
  uint64_t shortest = UINT64_MAX;
  for_each_run(page, [&](uint64_t begin, uint64_t end) {
    const uint64_t address = round_up(page + begin * kGranuleBytes, block.alignment);
    if (end - begin >= shortest || address + block.bytes > page + end * kGranuleBytes) return;
    shortest = end - begin;
    place = address;
  });
  return place;
}

AddressRange PageHeap::gap_around(uint64_t page) const {
  const auto next = gaps_.by_address().upper_bound(page);
  if (next == gaps_.by_address().begin() || std::prev(next)->second <= page) return {page, page};
  return {std::prev(next)->first, std::prev(next)->second};
}

uint64_t PageHeap::stretch_end(uint64_t page) const {
  const uint64_t end = gap_around(page + kPageBytes).end;
  return used(end).none() ? end : end + used(end).next(0, true) * kGranuleBytes;
}

uint64_t PageHeap::place_in_stretch(uint64_t page, const NewBlock& block) const {
  const uint64_t address = page + kPageBytes - free_at_back(used(page)) * kGranuleBytes;
  return address + block.bytes <= stretch_end(page) ? address : 0;
}

// After a page that stays free, because the block before it may want to grow a tail.
uint64_t PageHeap::place_on_new_pages(const NewBlock& block) {
  const uint64_t bytes = page_up(block.bytes);
  if (block.alignment > kPageBytes) {
    const uint64_t address = gaps_.take_best(bytes, block.alignment, block.alignment);
    if (address != 0) gaps_.insert({address, address + bytes});
    return address;
  }
  const uint64_t gap = gaps_.take_best(kPageBytes + bytes, kPageBytes, 0);
  if (gap == 0) return 0;
  gaps_.insert({gap, gap + kPageBytes + bytes});
  return gap + kPageBytes;
}

AddressRange PageHeap::added(uint64_t address, uint64_t bytes) const {
  const Edges edges(address, bytes);
  const uint64_t begin = used(edges.first).none() ? edges.first : edges.first + kPageBytes;
  const uint64_t end = used(edges.last).none() ? edges.last + kPageBytes : edges.last;
  return {begin, std::max(begin, end)};
}

void PageHeap::take(uint64_t address, const NewBlock& block) {
  const AddressRange pages = added(address, block.bytes);
  if (pages.bytes() != 0) {
    HEAPTAPE_CHECK(gaps_.take(pages));
    space_.commit(pages);
  }
  const Edges edges(address, block.bytes);
  edges.for_each([&](uint64_t page, uint32_t begin, uint32_t end) {
    Page& entry = pages_[page];
    entry.death = entry.used.none() ? block.death : std::max(entry.death, block.death);
    entry.used.set(begin, end);
  });
  sort_in(edges);
}

void PageHeap::give_back(uint64_t address, uint64_t bytes) {
  const Edges edges(address, bytes);
  edges.for_each(
      [&](uint64_t page, uint32_t begin, uint32_t end) { pages_[page].used.clear(begin, end); });
  const AddressRange pages = added(address, bytes);
  if (pages.bytes() != 0) {
    space_.decommit(pages);
    gaps_.insert(pages);
  }
  sort_in(edges);
}

// The entries of the block's pages change, and that of the last page in use before it.
void PageHeap::sort_in(const Edges& edges) {
  const uint64_t before = edges.first - kPageBytes;
  const bool is_gap = before >= kModelBase && used(before).none();
  sort_in(is_gap ? gap_around(before).begin - kPageBytes : before);
  edges.for_each([&](uint64_t page, uint32_t, uint32_t) { sort_in(page); });
}

void PageHeap::sort_in(uint64_t page) {
  Page& entry = pages_[page];
  std::array<uint64_t, kRooms> rooms = {};  // in the order of Room
  if (!entry.used.none()) {
    for_each_run(page,
                 [&](uint64_t begin, uint64_t end) { rooms[0] = std::max(rooms[0], end - begin); });
    if (gap_around(page + kPageBytes).bytes() != 0) {
      rooms[1] = free_at_back(entry.used);
      rooms[2] = rooms[1] + granules_of(stretch_end(page) - page - kPageBytes);
    }
  }
  for (size_t i = 0; i < kRooms; ++i) {
    const uint64_t new_key = rooms[i] == 0 ? 0 : key(page, entry.death, rooms[i]);
    uint64_t& old_key = entry.keys[i];
    if (old_key == new_key) {
      if (entry.rooms[i] != rooms[i]) trees_[i].replace(new_key, {new_key, rooms[i]});
    } else {
      if (old_key != 0) trees_[i].erase(old_key);
      if (new_key != 0) trees_[i].insert({new_key, rooms[i]});
    }
    old_key = new_key;
  }
  entry.rooms = rooms;
}

}  // namespace heaptape::allocators::foresight
