// How far a node is from the head of a list, without a list: nodes are only pushed at the head, so
// the nodes in front of one are those pushed after it and not yet removed. A walk of n nodes is
// charged in O(log n).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace heaptape::allocators::pagealign {

// Memory grows with the keys held, not with the pushes: places are renumbered now and then, without
// gaps.
class PushOrder {
 public:
  uint64_t size() const { return size_; }

  // The place of the new key. `moved(key, place)` is called for keys whose place changes.
  template <typename Moved>
  uint64_t push(uint64_t key, Moved&& moved) {
    if (keys_.size() == words_.size() * kWordBits) close_gaps(moved);
    const uint64_t place = keys_.size();
    keys_.push_back(key);
    words_[place / kWordBits] |= uint64_t{1} << place % kWordBits;
    add(place / kWordBits, 1);
    ++size_;
    return place;
  }

  // Removes the key at `place` and returns how many of the remaining keys were pushed after it.
  uint64_t remove(uint64_t place) {
    const uint64_t word = place / kWordBits;
    const int bit = static_cast<int>(place % kWordBits);
    const uint64_t not_after =
        before(word) + static_cast<uint64_t>(std::popcount(words_[word] << (kWordBits - 1 - bit)));
    const uint64_t after = size_ - not_after;
    words_[word] &= ~(uint64_t{1} << bit);
    add(word, UINT64_MAX);
    --size_;
    return after;
  }

 private:
  static constexpr int kWordBits = 64;
  static constexpr uint64_t kLeastWords = 16;

  template <typename Moved>
  void close_gaps(Moved&& moved) {
    std::vector<uint64_t> keys;
    keys.reserve(2 * size_);
    for (uint64_t place = 0; place < keys_.size(); ++place) {
      if ((words_[place / kWordBits] >> place % kWordBits & 1) == 0) continue;
      moved(keys_[place], keys.size());
      keys.push_back(keys_[place]);
    }
    keys_.swap(keys);
    // At most half full, so that the next renumbering is as many pushes away as there are keys.
    words_.assign(std::max(kLeastWords, 2 * size_ / kWordBits + 1), 0);
    sums_.assign(words_.size() + 1, 0);
    for (uint64_t place = 0; place < keys_.size(); ++place) {
      words_[place / kWordBits] |= uint64_t{1} << place % kWordBits;
    }
    for (uint64_t word = 0; word < words_.size(); ++word) {
      if (words_[word] != 0) add(word, static_cast<uint64_t>(std::popcount(words_[word])));
    }
  }

  // Fenwick, "A new data structure for cumulative frequency tables" (1994), over whole words.
  void add(uint64_t word, uint64_t count) {
    for (uint64_t i = word + 1; i < sums_.size(); i += i & -i) sums_[i] += count;
  }
  uint64_t before(uint64_t word) const {
    uint64_t sum = 0;
    for (uint64_t i = word; i != 0; i &= i - 1) sum += sums_[i];
    return sum;
  }

  std::vector<uint64_t> keys_;   // by place; includes removed keys
  std::vector<uint64_t> words_;  // bit n % 64 of word n / 64: the key at place n is present
  std::vector<uint64_t> sums_;
  uint64_t size_ = 0;
};

}  // namespace heaptape::allocators::pagealign
