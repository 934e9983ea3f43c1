// One bit for each page of a chunk, handled in stretches of pages. All zero is the empty set.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "allocators/models/runs/run_geometry.h"

namespace heaptape::allocators::runs {

class PageBits {
 public:
  void set(uint32_t first, uint32_t count) {
    for_words(first, count, [this](uint32_t word, uint64_t mask) { words_[word] |= mask; });
  }

  // Returns how many of these bits were set.
  uint32_t clear(uint32_t first, uint32_t count) {
    int were_set = 0;
    for_words(first, count, [&](uint32_t word, uint64_t mask) {
      were_set += std::popcount(words_[word] & mask);
      words_[word] &= ~mask;
    });
    return static_cast<uint32_t>(were_set);
  }

  // The first page at or after `from` whose bit is `value`; kChunkPages if there is none.
  uint32_t next(uint32_t from, bool value) const {
    for (uint32_t word = from / 64; word < kWords; ++word) {
      uint64_t candidates = value ? words_[word] : ~words_[word];
      if (word == from / 64) candidates &= ~uint64_t{0} << (from % 64);
      if (candidates != 0) return word * 64 + static_cast<uint32_t>(std::countr_zero(candidates));
    }
    return kChunkPages;
  }

  // One past the last page before `limit` whose bit is `value`; 0 if there is none.
  uint32_t last_end(uint32_t limit, bool value) const {
    for (uint32_t word = (limit + 63) / 64; word-- > 0;) {
      uint64_t candidates = value ? words_[word] : ~words_[word];
      if (limit < word * 64 + 64) candidates &= ~(~uint64_t{0} << (limit % 64));
      if (candidates != 0) return word * 64 + static_cast<uint32_t>(std::bit_width(candidates));
    }
    return 0;
  }

 private:
  static constexpr uint32_t kWords = kChunkPages / 64;

  template <typename Fn>
  static void for_words(uint32_t first, uint32_t count, Fn&& fn) {
    const uint32_t end = first + count;
    while (first < end) {
      const uint32_t in_word = std::min(end - first, 64 - first % 64);
      fn(first / 64, ~uint64_t{0} >> (64 - in_word) << (first % 64));
      first += in_word;
    }
  }

  uint64_t words_[kWords];
};

}  // namespace heaptape::allocators::runs
