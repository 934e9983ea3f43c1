#include "allocators/models/ptmalloc/sub_heaps.h"

#include <algorithm>

namespace heaptape::allocators::ptmalloc {
namespace {

constexpr uint64_t kHeapMinBytes = 32 * 1024;

}  // namespace

uint32_t SubHeaps::create(Arena& arena, uint32_t previous, uint64_t bytes, uint64_t top_pad,
                          const CommitRule& rule) {
  const uint64_t padded = bytes + top_pad < bytes ? UINT64_MAX : bytes + top_pad;
  if (padded < kHeapMinBytes) {
    bytes = kHeapMinBytes;
  } else if (padded <= kHeapMaxBytes) {
    bytes = padded;
  } else if (bytes > kHeapMaxBytes) {
    return kNoHeap;
  } else {
    bytes = kHeapMaxBytes;
  }
  const uint32_t heap = free_place();
  if (heap == kNoHeap) return kNoHeap;
  memory_.open(first_of_heap(heap) + 1);
  heaps_[heap] = {&arena, previous, 0, 0, kNoChunk};
  grow(heap, bytes, rule);
  return heap;
}

bool SubHeaps::grow(uint32_t index, uint64_t bytes, const CommitRule& rule) {
  SubHeap& heap = heaps_[index];
  if (bytes > kHeapMaxBytes || heap.bytes + page_up(bytes) > kHeapMaxBytes) return false;
  heap.bytes += page_up(bytes);
  if (heap.bytes > heap.writable_bytes) {
    const uint64_t address = address_of_heap(index);
    space_.commit({address + heap.writable_bytes, address + heap.bytes}, rule);
    heap.writable_bytes = heap.bytes;
  }
  return true;
}

void SubHeaps::destroy(uint32_t index) {
  const uint64_t address = address_of_heap(index);
  space_.decommit({address, address + heaps_[index].writable_bytes});
  heaps_[index] = {};
}

void SubHeaps::append_absent(std::vector<AddressRange>& ranges) const {
  for (uint32_t i = 0; i < heaps_.size(); ++i) {
    const SubHeap& heap = heaps_[i];
    if (heap.bytes == heap.writable_bytes) continue;
    const uint64_t address = address_of_heap(i);
    ranges.push_back({address + heap.bytes, address + heap.writable_bytes});
  }
}

uint32_t SubHeaps::free_place() {
  const auto place = std::ranges::find(heaps_, nullptr, &SubHeap::arena);
  if (place != heaps_.end()) return static_cast<uint32_t>(place - heaps_.begin());
  if (heaps_.size() == kMaxHeaps) return kNoHeap;
  heaps_.emplace_back();
  return static_cast<uint32_t>(heaps_.size() - 1);
}

}  // namespace heaptape::allocators::ptmalloc
