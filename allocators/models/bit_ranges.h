// A set of small numbers, handled in ranges: the pages of a chunk, the granules of a page.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace heaptape::allocators {

// Numbers below kSize, a multiple of 64. Ranges are half-open; limits are at most kSize. All bytes
// 0 is the empty set.
template <uint32_t kSize>
class BitRanges {
 public:
  bool none() const {
    uint64_t all = 0;
    for (const uint64_t word : words_) all |= word;
    return all == 0;
  }

  void set(uint32_t begin, uint32_t end) {
    for_words(begin, end, [](uint64_t& word, uint64_t mask) { word |= mask; });
  }
  // Returns how many of them were set.
  uint32_t clear(uint32_t begin, uint32_t end) {
    int were_set = 0;
    for_words(begin, end, [&were_set](uint64_t& word, uint64_t mask) {
      were_set += std::popcount(word & mask);
      word &= ~mask;
    });
    return static_cast<uint32_t>(were_set);
  }

  // The first number at or after `from` that is set, or is not; kSize if there is none.
  uint32_t next(uint32_t from, bool is_set) const {
    for (uint32_t i = from / 64; i < words_.size(); ++i) {
      uint64_t candidates = is_set ? words_[i] : ~words_[i];
      if (i == from / 64) candidates &= UINT64_MAX << (from % 64);
      if (candidates != 0) return i * 64 + static_cast<uint32_t>(std::countr_zero(candidates));
    }
    return kSize;
  }
  // One past the last number below `limit` that is set, or is not; 0 if there is none.
  uint32_t last_end(uint32_t limit, bool is_set) const {
    for (uint32_t i = (limit + 63) / 64; i-- > 0;) {
      uint64_t candidates = is_set ? words_[i] : ~words_[i];
      if (limit < i * 64 + 64) candidates &= ~(UINT64_MAX << (limit % 64));
      if (candidates != 0) return i * 64 + static_cast<uint32_t>(std::bit_width(candidates));
    }
    return 0;
  }

 private:
  static_assert(kSize % 64 == 0);

  // Calls fn(word, mask) for each word that has bits of the range.
  template <typename Fn>
  void for_words(uint32_t begin, uint32_t end, Fn&& fn) {
    while (begin < end) {
      const uint32_t in_word = std::min(end - begin, 64 - begin % 64);
      fn(words_[begin / 64], UINT64_MAX >> (64 - in_word) << (begin % 64));
      begin += in_word;
    }
  }

  std::array<uint64_t, kSize / 64> words_;
};

}  // namespace heaptape::allocators
