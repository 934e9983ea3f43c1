// A set of numbers below 1 << 24: one leaf of an EdgeBitmap, 2 MiB of which only the pages in use
// exist.
#pragma once

#include <bit>
#include <cstdint>

namespace heaptape::base {

// All bytes 0 = empty. Level 0 has a bit per number, each further level a bit per non-zero word of
// the one below, so that a search climbs and descends instead of reading empty words.
class LeafBits {
 public:
  static constexpr uint64_t kLimit = 1 << 24;
  static constexpr uint64_t kNone = UINT64_MAX;

  bool contains(uint64_t bit) const { return (level(0)[bit >> 6] >> (bit & 63) & 1) != 0; }

  // Returns whether the set was empty before.
  bool insert(uint64_t bit) {
    uint64_t& word = level(0)[bit >> 6];
    const bool was_zero = word == 0;
    word |= uint64_t{1} << (bit & 63);
    return was_zero && mark_word(bit >> 6);
  }
  // Returns whether the set is empty now.
  bool erase(uint64_t bit) {
    uint64_t& word = level(0)[bit >> 6];
    word &= ~(uint64_t{1} << (bit & 63));
    return word == 0 && unmark_word(bit >> 6);
  }

  // The first number at or after `from` (below kLimit), or kNone. Checks the next 64 before it
  // climbs, wherever in a word they begin.
  uint64_t find_from(uint64_t from) const {
    const uint64_t* word = level(0) + (from >> 6);
    const uint64_t bits = word[0] >> (from & 63) | word[1] << 1 << (~from & 63);
    if (bits == 0) [[unlikely]]
      return search_from(from);
    return from + static_cast<uint64_t>(std::countr_zero(bits));
  }
  // The last number before `limit` (at most kLimit), or kNone.
  uint64_t find_before(uint64_t limit) const {
    const uint64_t* word = level(0) + (limit >> 6);
    const uint64_t bits = word[0] << 1 << (~limit & 63) | word[-1] >> (limit & 63);
    if (bits == 0) [[unlikely]]
      return search_before(limit);
    return limit - 1 - static_cast<uint64_t>(std::countl_zero(bits));
  }
  // The first odd number at or after `from` and before `limit` (at most kLimit) whose successor is
  // absent, or kNone; the successor of the last possible number counts as absent. Takes 64 numbers
  // at a time.
  uint64_t find_lone_odd(uint64_t from, uint64_t limit) const;
  // The first and the last number; the set must not be empty.
  uint64_t first() const { return first_under(kLevels - 1, lowest(level(kLevels - 1)[0])); }
  uint64_t last() const { return last_under(kLevels - 1, highest(level(kLevels - 1)[0])); }

  // Every number below `limit`, a multiple of 64, ascending, from level 0 alone.
  template <typename Visit>
  void scan(uint64_t limit, Visit visit) const {
    for (uint64_t index = 0; index < limit >> 6; ++index) {
      for (uint64_t word = level(0)[index]; word != 0; word &= word - 1) {
        visit(index << 6 | lowest(word));
      }
    }
  }

 private:
  static constexpr int kLevels = 4;
  static_assert(kLimit == uint64_t{1} << (6 * kLevels), "the last level is one word");
  // Level 0 lies between two words that stay 0, so that a search may look one word beyond.
  static constexpr uint64_t kLevelBegin[kLevels] = {1, 2 + (1u << 18), 2 + (1u << 18) + (1u << 12),
                                                    2 + (1u << 18) + (1u << 12) + (1u << 6)};

  static uint64_t lowest(uint64_t word) { return static_cast<uint64_t>(std::countr_zero(word)); }
  static uint64_t highest(uint64_t word) { return static_cast<uint64_t>(std::bit_width(word)) - 1; }

  const uint64_t* level(int n) const { return words_ + kLevelBegin[n]; }
  uint64_t* level(int n) { return words_ + kLevelBegin[n]; }

  // To be called when a word of level 0 gets its first bit, or loses its last. True if the set was
  // empty before, or is empty now.
  bool mark_word(uint64_t index);
  bool unmark_word(uint64_t index);
  uint64_t search_from(uint64_t from) const;
  uint64_t search_before(uint64_t limit) const;
  // The outermost number under a set bit of `level`.
  uint64_t first_under(int level, uint64_t bit) const;
  uint64_t last_under(int level, uint64_t bit) const;

  uint64_t words_[kLevelBegin[kLevels - 1] + 1];
};

}  // namespace heaptape::base
