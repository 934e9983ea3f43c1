#include "base/address/leaf_bits.h"

namespace heaptape::base {

bool LeafBits::mark_word(uint64_t index) {
  for (int n = 1; n < kLevels; ++n) {
    uint64_t& word = level(n)[index >> 6];
    const bool was_empty = word == 0;
    word |= uint64_t{1} << (index & 63);
    if (!was_empty) return false;
    index >>= 6;
  }
  return true;
}

bool LeafBits::unmark_word(uint64_t index) {
  for (int n = 1; n < kLevels; ++n) {
    uint64_t& word = level(n)[index >> 6];
    word &= ~(uint64_t{1} << (index & 63));
    if (word != 0) return false;
    index >>= 6;
  }
  return true;
}

uint64_t LeafBits::search_from(uint64_t from) const {
  uint64_t bit = from;
  for (int n = 0; n < kLevels; ++n) {
    if (bit >= kLimit >> (6 * n)) return kNone;
    const uint64_t bits = level(n)[bit >> 6] >> (bit & 63);
    if (bits != 0) return first_under(n, bit + lowest(bits));
    bit = (bit >> 6) + 1;
  }
  return kNone;
}

uint64_t LeafBits::search_before(uint64_t limit) const {
  uint64_t bit = limit;
  for (int n = 0; n < kLevels; ++n) {
    const uint64_t below = (uint64_t{1} << (bit & 63)) - 1;
    const uint64_t bits = level(n)[bit >> 6] & below;
    bit >>= 6;
    if (bits != 0) return last_under(n, bit << 6 | highest(bits));
  }
  return kNone;
}

uint64_t LeafBits::first_under(int n, uint64_t bit) const {
  while (n-- > 0) bit = bit << 6 | lowest(level(n)[bit]);
  return bit;
}

uint64_t LeafBits::last_under(int n, uint64_t bit) const {
  while (n-- > 0) bit = bit << 6 | highest(level(n)[bit]);
  return bit;
}

uint64_t LeafBits::find_lone_odd(uint64_t from, uint64_t limit) const {
  constexpr uint64_t kOdd = 0xaaaaaaaaaaaaaaaa;
  const uint64_t* const words = level(0);
  uint64_t wanted = ~uint64_t{0} << (from & 63);
  for (uint64_t index = from >> 6; index << 6 < limit; wanted = ~uint64_t{0}) {
    const uint64_t word = words[index];
    const uint64_t successors = word >> 1 | words[index + 1] << 63;
    const uint64_t lone = word & kOdd & ~successors & wanted;
    if (lone != 0) {
      const uint64_t found = index << 6 | lowest(lone);
      return found < limit ? found : kNone;
    }
    ++index;
    if (words[index] == 0 && index << 6 < limit) index = search_from(index << 6) >> 6;
  }
  return kNone;
}

}  // namespace heaptape::base
