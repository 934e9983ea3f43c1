#include "allocators/models/textbook/buddy_heap.h"

#include <algorithm>
#include <bit>

namespace heaptape::allocators::textbook {
namespace {

// A tag says whether its block is free, its order, and its node; for a run of largest blocks, which
// is never free, how many bytes it has.
enum class Use : uint64_t { kNone, kFree, kUsed, kRun };

uint64_t free_tag(int order, uint32_t node) {
  return uint64_t{node} << 32 | static_cast<uint64_t>(order) << 8 |
         static_cast<uint64_t>(Use::kFree);
}
uint64_t used_tag(int order) {
  return static_cast<uint64_t>(order) << 8 | static_cast<uint64_t>(Use::kUsed);
}
uint64_t run_tag(uint64_t bytes) {
  return bytes << 8 | static_cast<uint64_t>(Use::kRun);
}
Use use_of(uint64_t tag) {
  return static_cast<Use>(tag & 0xff);
}
int order_of(uint64_t tag) {
  return static_cast<int>(tag >> 8 & 0xff);
}
bool is_free_of_order(uint64_t tag, int order) {
  return (tag & 0xffff) == (free_tag(order, 0) & 0xffff);
}

// CommitRule::words.
constexpr char kNoFreeBlock[] =
    "no block of % bytes or more is free to be split: the heap grows by a largest one, % bytes";
constexpr char kAboveLargest[] =
    "above % bytes a block is a run of largest ones, and no free run has % bytes: the heap grows";

}  // namespace

BuddyHeap::BuddyHeap(AddressSpace& space, const base::Values& options)
    : least_order_(static_cast<int>(options["min_order"])),
      largest_order_(static_cast<int>(options["max_order"])),
      largest_blocks_(space, uint64_t{1} << largest_order_, 0, options["trim"]),
      nodes_(1) {}

std::vector<base::Parameter> BuddyHeap::parameters() {
  return {{"min_order", 4, "log2 of the smallest block", {}, 4, 12},
          {"max_order", 20, "log2 of the largest block, by which the heap grows", {}, 12, 40},
          trim_parameter()};
}

int BuddyHeap::order_for(uint64_t bytes) const {
  return std::max(least_order_, static_cast<int>(std::bit_width(std::max<uint64_t>(bytes, 1) - 1)));
}

Placement BuddyHeap::allocate(uint64_t bytes, uint64_t alignment) {
  const int order = order_for(std::max(bytes, alignment));
  if (order <= largest_order_) {
    const uint64_t address = allocate_order(order);
    return address == 0 ? Placement{} : Placement{address, uint64_t{1} << order};
  }
  const uint64_t run_bytes = largest_blocks_.run_bytes(std::max<uint64_t>(bytes, 1));
  const uint64_t address = largest_blocks_.allocate(
      run_bytes, alignment, {kAboveLargest, {largest_blocks_.unit_bytes(), run_bytes}});
  if (address == 0) return {};
  tags_[address] = run_tag(run_bytes);
  return {address, run_bytes};
}

uint64_t BuddyHeap::allocate_order(int order) {
  const uint64_t lists = nonempty_ >> order;
  int from = lists == 0 ? largest_order_ : order + std::countr_zero(lists);
  const uint64_t address = lists == 0 ? allocate_largest(order) : pop(from);
  if (address == 0) return 0;
  for (; from > order; ++splits_) {
    --from;
    push(address + (uint64_t{1} << from), from);
  }
  tags_[address] = used_tag(order);
  return address;
}

// A block of the largest order, to be split down to `order`.
uint64_t BuddyHeap::allocate_largest(int order) {
  const uint64_t bytes = largest_blocks_.unit_bytes();
  return largest_blocks_.allocate(bytes, 1, {kNoFreeBlock, {uint64_t{1} << order, bytes}});
}

void BuddyHeap::push(uint64_t address, int order) {
  uint32_t node;
  if (spare_nodes_.empty()) {
    node = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    node = spare_nodes_.back();
    spare_nodes_.pop_back();
  }
  nodes_[node] = {address, 0, lists_[order]};
  nodes_[lists_[order]].before = node;
  lists_[order] = node;
  nonempty_ |= uint64_t{1} << order;
  tags_[address] = free_tag(order, node);
}

uint64_t BuddyHeap::pop(int order) {
  const uint32_t node = lists_[order];
  unlink(node, order);
  return nodes_[node].address;
}

void BuddyHeap::unlink(uint32_t node, int order) {
  const FreeBlock& block = nodes_[node];
  nodes_[block.behind].before = block.before;
  (block.before == 0 ? lists_[order] : nodes_[block.before].behind) = block.behind;
  if (lists_[order] == 0) nonempty_ &= ~(uint64_t{1} << order);
  spare_nodes_.push_back(node);
}

void BuddyHeap::release(uint64_t address) {
  const uint64_t tag = tags_[address];
  if (use_of(tag) == Use::kRun) {
    largest_blocks_.release({address, address + (tag >> 8)});
    return;
  }
  int order = order_of(tag);
  for (; order < largest_order_; ++order, ++merges_) {
    // A block, possibly a smaller one, begins where the buddy does: its tag is up to date.
    const uint64_t buddy = address ^ (uint64_t{1} << order);
    const uint64_t buddy_tag = tags_[buddy];
    if (!is_free_of_order(buddy_tag, order)) break;
    unlink(static_cast<uint32_t>(buddy_tag >> 32), order);
    address = std::min(address, buddy);
  }
  if (order < largest_order_) {
    push(address, order);
  } else {
    largest_blocks_.release({address, address + (uint64_t{1} << order)});
  }
}

uint64_t BuddyHeap::usable_bytes(uint64_t address) const {
  const uint64_t tag = tags_.get(address);
  return use_of(tag) == Use::kRun ? tag >> 8 : uint64_t{1} << order_of(tag);
}

bool BuddyHeap::try_resize_in_place(uint64_t address, uint64_t bytes) {
  const uint64_t tag = tags_[address];
  const int order = order_for(bytes);
  if (use_of(tag) == Use::kUsed) return order == order_of(tag);
  if (order <= largest_order_ || !largest_blocks_.try_resize_in_place(address, tag >> 8, bytes))
    return false;
  tags_[address] = run_tag(largest_blocks_.run_bytes(bytes));
  return true;
}

void BuddyHeap::append_counters(std::vector<Counter>& counters) const {
  counters.push_back({"splits", splits_});
  counters.push_back({"merges", merges_});
  largest_blocks_.append_counters(counters);
}

}  // namespace heaptape::allocators::textbook
