// A sparse array over the 57-bit address space, made of zeroed leaves that cover 64 MiB each. The
// recorder keeps its live set in one, the replayer its slots and its occupancy bitmap: all three
// need the locality of the heap itself, as in a page table. A hash table instead took 250 ns an
// event.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <vector>

#include "base/address/address_range.h"

namespace heaptape::base {

inline constexpr int kLeafSpanLog2 = 26;
inline constexpr uint64_t kLeafSpan = uint64_t{1} << kLeafSpanLog2;

// Leaf must be valid when all its bytes are 0. A leaf's pages are taken from the system when first
// written, so a large Leaf that is used in few places costs little. One thread. Addresses must be
// below kAddressLimit. Throws std::bad_alloc like any other container.
template <typename Leaf>
class AddressTree {
  static_assert(std::is_trivially_destructible_v<Leaf>);

 public:
  AddressTree() : root_(map<Middle*>(kRootSize)) {}
  ~AddressTree() {
    for (const Pages& pages : mapped_) munmap(pages.begin, pages.bytes);
  }
  AddressTree(const AddressTree&) = delete;
  AddressTree& operator=(const AddressTree&) = delete;

  // The leaf that covers `address`, made if necessary.
  Leaf& leaf(uint64_t address) {
    const uint64_t key = address >> kLeafSpanLog2;
    if (key == cached_key_) [[likely]]
      return *cached_;  // NOLINT(clang-analyzer-core.uninitialized.UndefReturn): set with the key
    Middle*& middle = root_[key >> kMiddleLog2];
    if (middle == nullptr) middle = map<Middle>(1);
    Leaf*& leaf = middle->leaves[key & (kMiddleSize - 1)];
    if (leaf == nullptr) leaf = map<Leaf>(1);
    cached_key_ = key;
    cached_ = leaf;
    return *leaf;
  }

  // The same, or null if nothing was ever written there.
  const Leaf* find(uint64_t address) const {
    const uint64_t key = address >> kLeafSpanLog2;
    if (key == cached_key_) [[likely]]
      return cached_;
    return find_uncached(key);
  }
  Leaf* find(uint64_t address) {
    const uint64_t key = address >> kLeafSpanLog2;
    if (key == cached_key_) [[likely]]
      return cached_;
    Leaf* const leaf = find_uncached(key);
    if (leaf == nullptr) return nullptr;
    cached_key_ = key;
    cached_ = leaf;
    return leaf;
  }

 private:
  static constexpr int kMiddleLog2 = 15;
  static constexpr size_t kMiddleSize = size_t{1} << kMiddleLog2;
  static constexpr size_t kRootSize = (kAddressLimit >> kLeafSpanLog2) >> kMiddleLog2;
  struct Middle {
    Leaf* leaves[kMiddleSize];
  };

  struct Pages {
    void* begin;
    size_t bytes;
  };

  Leaf* find_uncached(uint64_t key) const {
    const Middle* const middle = root_[key >> kMiddleLog2];
    return middle == nullptr ? nullptr : middle->leaves[key & (kMiddleSize - 1)];
  }

  template <typename T>
  T* map(size_t count) {
    mapped_.push_back({nullptr, 0});
    void* pages = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
      mapped_.pop_back();
      throw std::bad_alloc();
    }
    mapped_.back() = {pages, count * sizeof(T)};
    return static_cast<T*>(pages);
  }

  std::vector<Pages> mapped_;  // saves searching for them, which would touch them all
  Middle** root_;
  uint64_t cached_key_ = UINT64_MAX;
  Leaf* cached_ = nullptr;
};

}  // namespace heaptape::base
