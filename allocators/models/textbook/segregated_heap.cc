#include "allocators/models/textbook/segregated_heap.h"

#include <algorithm>

namespace heaptape::allocators::textbook {
namespace {

constexpr uint64_t kPageChoices[] = {4096, 16384, 65536, 262144, 1048576};

// CommitRule::words.
constexpr char kNoBlockOfClass[] =
    "no block of % bytes is free, nor a page of % bytes to cut up: the heap grows";
constexpr char kNoRunOfPages[] =
    "above % bytes a block has pages of its own, and no free ones serve for % bytes: the heap "
    "grows";

// The owner of a page: a class, or the large block that begins there.
constexpr uint64_t kClass = 1;
uint64_t class_owner(uint32_t size_class) {
  return uint64_t{size_class} << 1 | kClass;
}
uint64_t large_owner(uint64_t bytes) {
  return bytes << 1;
}
bool is_class(uint64_t owner) {
  return (owner & kClass) != 0;
}
uint64_t block_bytes(uint64_t owner) {
  return is_class(owner) ? size_class_bytes(static_cast<uint32_t>(owner >> 1)) : owner >> 1;
}

}  // namespace

SegregatedHeap::SegregatedHeap(AddressSpace& space, const base::Values& options)
    : pages_(space, kPageChoices[options["page_bytes"]], options["grow_bytes"], options["trim"]),
      classes_(size_class_of(pages_.unit_bytes() / 2) + 1) {}

std::vector<base::Parameter> SegregatedHeap::parameters() {
  return {number_choice("page_bytes", 2, "how much a class gets at a time", kPageChoices),
          grow_parameter(1 << 20), trim_parameter()};
}

// A size that is a multiple of the alignment has a class whose blocks are aligned: either the size
// is a class, or the steps between classes are multiples of the alignment.
Placement SegregatedHeap::allocate(uint64_t bytes, uint64_t alignment) {
  const uint64_t rounded = round_up(std::max<uint64_t>(bytes, 1), alignment);
  return is_small(rounded) ? allocate_small(size_class_of(rounded))
                           : allocate_large(std::max<uint64_t>(bytes, 1), alignment);
}

Placement SegregatedHeap::allocate_small(uint32_t size_class) {
  Class& blocks = classes_[size_class];
  const uint64_t bytes = size_class_bytes(size_class);
  if (!blocks.freed.empty()) {
    const uint64_t address = blocks.freed.back();
    blocks.freed.pop_back();
    return {address, bytes};
  }
  if (blocks.left == 0) {
    const uint64_t page =
        pages_.allocate(pages_.unit_bytes(), 1, {kNoBlockOfClass, {bytes, pages_.unit_bytes()}});
    if (page == 0) return {};
    owners_[page] = class_owner(size_class);
    blocks.next = page;
    blocks.left = pages_.unit_bytes() / bytes;
    blocks_threaded_ += blocks.left;
    ++pages_claimed_;
  }
  --blocks.left;
  blocks.next += bytes;
  return {blocks.next - bytes, bytes};
}

Placement SegregatedHeap::allocate_large(uint64_t bytes, uint64_t alignment) {
  const CommitRule rule{kNoRunOfPages, {pages_.unit_bytes() / 2, pages_.run_bytes(bytes)}};
  const uint64_t address = pages_.allocate(bytes, alignment, rule);
  if (address == 0) return {};
  owners_[address] = large_owner(pages_.run_bytes(bytes));
  return {address, pages_.run_bytes(bytes)};
}

void SegregatedHeap::release(uint64_t address) {
  const uint64_t owner = owners_[page_of(address)];
  if (is_class(owner)) {
    classes_[owner >> 1].freed.push_back(address);
  } else {
    pages_.release({address, address + block_bytes(owner)});
  }
}

uint64_t SegregatedHeap::usable_bytes(uint64_t address) const {
  return block_bytes(owners_.get(page_of(address)));
}

bool SegregatedHeap::try_resize_in_place(uint64_t address, uint64_t bytes) {
  uint64_t& owner = owners_[page_of(address)];
  if (is_class(owner)) return is_small(bytes) && size_class_of(bytes) == owner >> 1;
  if (is_small(bytes) || !pages_.try_resize_in_place(address, block_bytes(owner), bytes))
    return false;
  owner = large_owner(pages_.run_bytes(bytes));
  return true;
}

void SegregatedHeap::append_counters(std::vector<Counter>& counters) const {
  counters.push_back({"pagesClaimed", pages_claimed_});
  counters.push_back({"blocksThreaded", blocks_threaded_});
  pages_.append_counters(counters);
}

}  // namespace heaptape::allocators::textbook
