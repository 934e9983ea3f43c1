// The outermost layer of the textbook models: turns a heap that places, frees and resizes in place
// into a model that can also move, and counts what the program sees. docs/models/textbook.md.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <vector>

#include "allocators/models/textbook/heap_segment.h"

namespace heaptape::allocators::textbook {

// Sizes and alignments are below kHeapLimit; sizes may be 0, alignments are 1 or another power of
// two. Addresses are those of live blocks.
template <typename H>
concept TextbookHeap = std::constructible_from<H, AddressSpace&, const base::Values&> &&
                       requires(H heap, const H& constant, uint64_t bytes, uint64_t address,
                                std::vector<Counter>& counters) {
                         // Address 0 if there is no room.
                         { heap.allocate(bytes, bytes) } -> std::same_as<Placement>;
                         // False, with no change, if the block would have to move.
                         { heap.try_resize_in_place(address, bytes) } -> std::same_as<bool>;
                         { heap.release(address) } -> std::same_as<void>;
                         { constant.usable_bytes(address) } -> std::same_as<uint64_t>;
                         { constant.work() } -> std::same_as<uint64_t>;
                         { constant.append_counters(counters) } -> std::same_as<void>;
                         { H::work_unit() } -> std::same_as<const char*>;
                         { H::traits() } -> std::same_as<BackendTraits>;
                         { H::parameters() } -> std::same_as<std::vector<base::Parameter>>;
                       };

template <TextbookHeap Heap>
class TextbookModel {
 public:
  TextbookModel(AddressSpace& space, const base::Values& options) : heap_(space, options) {}

  // As AllocatorModel says.
  Placement allocate(uint64_t bytes, uint64_t alignment) {
    if (bytes >= kHeapLimit || alignment >= kHeapLimit) return {};
    return heap_.allocate(bytes, std::max<uint64_t>(alignment, 1));
  }
  Placement allocate_zeroed(uint64_t bytes) { return allocate(bytes, 1); }
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address) { heap_.release(address); }

  // Textbook heaps know nothing of pages: they have written to all that they hold.
  std::vector<AddressRange> absent() const { return {}; }
  std::vector<Counter> counters() const {
    std::vector<Counter> list;
    heap_.append_counters(list);
    list.push_back({"resizesInPlace", in_place_});
    list.push_back({"bytesCopied", bytes_copied_});
    return list;
  }
  uint64_t work() const { return heap_.work(); }
  std::vector<GrowthCurve> growth() const
    requires requires(const Heap& heap) { heap.growth(); }
  {
    return heap_.growth();
  }
  static const char* work_unit() { return Heap::work_unit(); }
  static BackendTraits traits() { return Heap::traits(); }
  static std::vector<base::Parameter> parameters() { return Heap::parameters(); }

 private:
  Heap heap_;
  uint64_t in_place_ = 0;
  uint64_t bytes_copied_ = 0;
};

// A block that moves is placed before its old place is freed.
template <TextbookHeap Heap>
Placement TextbookModel<Heap>::reallocate(uint64_t address, uint64_t bytes) {
  if (bytes >= kHeapLimit) return {};
  if (heap_.try_resize_in_place(address, bytes)) {
    ++in_place_;
    return {address, heap_.usable_bytes(address)};
  }
  const Placement moved = heap_.allocate(bytes, 1);
  if (moved.address == 0) return {};
  bytes_copied_ += std::min(bytes, heap_.usable_bytes(address));
  heap_.release(address);
  return moved;
}

}  // namespace heaptape::allocators::textbook
