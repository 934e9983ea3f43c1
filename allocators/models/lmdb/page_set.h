// A set of page numbers that answers in logarithmic time what LMDB's sorted array answers by
// walking: how many pages lie below one, and where the lowest run of a given length is.
//
// A tree over words of 64 pages. Each node knows how many of its pages are in the set, how many it
// begins and ends with, and the longest run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace heaptape::allocators::lmdb {

using LmdbPage = uint32_t;  // the number of a page in the file

// Consecutive pages.
struct LmdbRun {
  LmdbPage first = 0;
  uint32_t pages = 0;

  bool operator==(const LmdbRun&) const = default;
};

class PageSet {
 public:
  PageSet() : words_(1), nodes_(2) {}

  // Memory: 5 bits a page up to the highest ever inserted. None of these is in the set.
  void insert(LmdbRun run);
  // All of these must be in the set.
  void erase(LmdbRun run);

  uint32_t size() const { return nodes_[1].count; }
  // Pages of the set below `page`.
  uint32_t count_below(LmdbPage page) const;
  // The page with `rank` others below it; requires rank < size().
  LmdbPage at(uint32_t rank) const;
  // The first of the lowest `pages` consecutive pages, all in the set; pages > 0.
  std::optional<LmdbPage> first_run(uint32_t pages) const;

 private:
  struct Node {
    uint32_t count = 0;
    uint32_t prefix = 0;
    uint32_t suffix = 0;
    uint32_t longest = 0;
  };

  static constexpr uint32_t kWordLog2 = 6;

  static Node node_of(uint64_t word);
  static Node join(const Node& low, const Node& high, uint32_t pages_each);

  uint32_t leaves() const { return static_cast<uint32_t>(words_.size()); }
  void make_room_for(uint32_t word);
  template <typename Change>
  void for_words(LmdbRun run, Change&& change);
  void refresh(uint32_t first_word, uint32_t last_word);

  std::vector<uint64_t> words_;  // a power of two of them
  std::vector<Node> nodes_;      // nodes_[1] is the root; the words' nodes begin at leaves()
};

}  // namespace heaptape::allocators::lmdb
