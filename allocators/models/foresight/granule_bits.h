// Which granules of one page belong to blocks.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "allocators/models/model.h"

namespace heaptape::allocators::foresight {

inline constexpr int kGranuleLog2 = 4;
inline constexpr uint64_t kGranuleBytes = uint64_t{1} << kGranuleLog2;
inline constexpr uint32_t kPageGranules = kPageBytes >> kGranuleLog2;

// Granules are numbered from 0; ranges are half-open, limits at most kPageGranules. All bytes 0
// means none.
class GranuleBits {
 public:
  bool none() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }

  void set(uint32_t begin, uint32_t end) {
    for (uint32_t i = 0; i < words_.size(); ++i) words_[i] |= mask(i, begin, end);
  }
  void clear(uint32_t begin, uint32_t end) {
    for (uint32_t i = 0; i < words_.size(); ++i) words_[i] &= ~mask(i, begin, end);
  }

  // The first at or after `from`; kPageGranules if there is none.
  uint32_t next_used(uint32_t from) const { return next(from, 0); }
  uint32_t next_free(uint32_t from) const { return next(from, UINT64_MAX); }

  uint32_t free_at_front() const { return next_used(0); }
  uint32_t free_at_back() const {
    uint32_t count = 0;
    for (size_t i = words_.size(); i-- > 0; count += 64) {
      if (words_[i] != 0) return count + static_cast<uint32_t>(std::countl_zero(words_[i]));
    }
    return count;
  }

 private:
  // The bits of word number `word` that are in the range.
  static uint64_t mask(uint32_t word, uint32_t begin, uint32_t end) {
    return below(end, word * 64) & ~below(begin, word * 64);
  }
  static uint64_t below(uint32_t limit, uint32_t base) {
    if (limit <= base) return 0;
    return limit - base >= 64 ? UINT64_MAX : (uint64_t{1} << (limit - base)) - 1;
  }
  uint32_t next(uint32_t from, uint64_t flip) const {
    for (uint32_t i = from / 64; i < words_.size(); ++i) {
      const uint64_t found = (words_[i] ^ flip) & ~below(from, i * 64);
      if (found != 0) return i * 64 + static_cast<uint32_t>(std::countr_zero(found));
    }
    return kPageGranules;
  }

  std::array<uint64_t, kPageGranules / 64> words_;
};

}  // namespace heaptape::allocators::foresight
