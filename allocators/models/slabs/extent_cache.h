// The free extents of one state, dirty, muzzy or retained: by size for the next allocation, by age
// for the next purge. Follows ecache.h and eset.c of jemalloc 5.3.0.
#pragma once

#include <array>
#include <cstdint>

#include "allocators/models/slabs/pairing_heap.h"

namespace heaptape::allocators::slabs {

class ExtentCache {
 public:
  void insert(Extent& extent);
  void remove(Extent& extent);

  // First fit: of the bins that are large enough, but at most 2^max_excess_log2 times larger, the
  // extent that comes first by Extent::before(). Null if there is none. `alignment` is a power of
  // two, a page or more. Adds the number of extents examined to `examined`.
  Extent* fit(uint64_t bytes, uint64_t alignment, int max_excess_log2, uint64_t& examined);

  Extent* oldest() const { return oldest_; }  // freed the longest ago; the next is its `newer`
  uint64_t pages() const { return pages_; }

 private:
  struct Bin {
    PairingHeap extents;
    ExtentRank best;  // of the first extent; jemalloc stores it apart, so it can be out of date
  };
  static constexpr uint32_t kWords = (kPageClasses + 63) / 64;

  uint32_t next_used(uint32_t bin) const;
  Extent* first_fit(uint64_t bytes, int max_excess_log2, uint64_t& examined);
  Extent* aligned_fit(uint64_t bytes, uint64_t most_bytes, uint64_t alignment, uint64_t& examined);

  std::array<Bin, kPageClasses> bins_;
  std::array<uint64_t, kWords> used_{};  // bit n % 64 of word n / 64: bin n is not empty
  Extent* oldest_ = nullptr;
  Extent* newest_ = nullptr;
  uint64_t pages_ = 0;
};

}  // namespace heaptape::allocators::slabs
