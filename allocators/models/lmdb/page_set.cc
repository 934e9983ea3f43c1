#include "allocators/models/lmdb/page_set.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace heaptape::allocators::lmdb {
namespace {

// Bit i of the result: bits i to i + pages - 1 of `word` are set. 0 < pages <= 64.
uint64_t runs_in(uint64_t word, uint32_t pages) {
  uint32_t length = 1;
  while (length < pages && word != 0) {
    const uint32_t step = std::min(length, pages - length);
    word &= word >> step;
    length += step;
  }
  return word;
}

uint32_t longest_run(uint64_t word) {
  uint32_t longest = 0;
  for (; word != 0; word &= word >> 1) ++longest;
  return longest;
}

}  // namespace

PageSet::Node PageSet::node_of(uint64_t word) {
  return {static_cast<uint32_t>(std::popcount(word)), static_cast<uint32_t>(std::countr_one(word)),
          static_cast<uint32_t>(std::countl_one(word)),
          word == ~uint64_t{0} ? 64 : longest_run(word)};
}

PageSet::Node PageSet::join(const Node& low, const Node& high, uint32_t pages_each) {
  return {low.count + high.count, low.prefix == pages_each ? pages_each + high.prefix : low.prefix,
          high.suffix == pages_each ? pages_each + low.suffix : high.suffix,
          std::max({low.longest, high.longest, low.suffix + high.prefix})};
}

void PageSet::insert(LmdbRun run) {
  if (run.pages == 0) return;
  make_room_for((run.first + (run.pages - 1)) >> kWordLog2);
  for_words(run, [](uint64_t& word, uint64_t mask) {
    HEAPTAPE_CHECK((word & mask) == 0);
    word |= mask;
  });
}

void PageSet::erase(LmdbRun run) {
  if (run.pages == 0) return;
  HEAPTAPE_CHECK((run.first + (run.pages - 1)) >> kWordLog2 < leaves());
  for_words(run, [](uint64_t& word, uint64_t mask) {
    HEAPTAPE_CHECK((word & mask) == mask);
    word &= ~mask;
  });
}

uint32_t PageSet::count_below(LmdbPage page) const {
  const uint32_t word = page >> kWordLog2;
  if (word >= leaves()) return size();
  const uint64_t below = (uint64_t{1} << (page & 63)) - 1;
  auto count = static_cast<uint32_t>(std::popcount(words_[word] & below));
  for (uint32_t node = leaves() + word; node > 1; node >>= 1) {
    if ((node & 1) != 0) count += nodes_[node - 1].count;
  }
  return count;
}

LmdbPage PageSet::at(uint32_t rank) const {
  HEAPTAPE_CHECK(rank < size());
  uint32_t node = 1;
  while (node < leaves()) {
    node <<= 1;
    if (rank >= nodes_[node].count) rank -= nodes_[node++].count;
  }
  uint64_t word = words_[node - leaves()];
  for (; rank > 0; --rank) word &= word - 1;
  return ((node - leaves()) << kWordLog2) + static_cast<uint32_t>(std::countr_zero(word));
}

std::optional<LmdbPage> PageSet::first_run(uint32_t pages) const {
  if (nodes_[1].longest < pages) return std::nullopt;
  uint32_t node = 1;
  uint32_t first = 0;             // page below `node`
  uint32_t half = leaves() * 32;  // pages below each child
  for (; node < leaves(); half >>= 1) {
    node <<= 1;
    if (nodes_[node].longest >= pages) continue;
    if (nodes_[node].suffix + nodes_[node + 1].prefix >= pages) {
      return first + half - nodes_[node].suffix;
    }
    ++node;
    first += half;
  }
  return first + static_cast<uint32_t>(std::countr_zero(runs_in(words_[node - leaves()], pages)));
}

void PageSet::make_room_for(uint32_t word) {
  if (word < leaves()) return;
  words_.resize(std::bit_ceil(word + 1));
  nodes_.assign(size_t{leaves()} * 2, Node());
  refresh(0, leaves() - 1);
}

template <typename Change>
void PageSet::for_words(LmdbRun run, Change&& change) {
  const uint32_t first_word = run.first >> kWordLog2;
  const uint32_t last_word = (run.first + (run.pages - 1)) >> kWordLog2;
  for (uint32_t word = first_word; word <= last_word; ++word) {
    uint64_t mask = ~uint64_t{0};
    if (word == first_word) mask <<= run.first & 63;
    if (word == last_word) mask &= ~uint64_t{0} >> (63 - ((run.first + (run.pages - 1)) & 63));
    change(words_[word], mask);
  }
  refresh(first_word, last_word);
}

void PageSet::refresh(uint32_t first_word, uint32_t last_word) {
  for (uint32_t word = first_word; word <= last_word; ++word) {
    nodes_[leaves() + word] = node_of(words_[word]);
  }
  uint32_t first = leaves() + first_word;
  uint32_t last = leaves() + last_word;
  for (uint32_t pages = 64; first > 1; pages <<= 1) {
    first >>= 1;
    last >>= 1;
    for (uint32_t node = first; node <= last; ++node) {
      nodes_[node] = join(nodes_[2 * node], nodes_[2 * node + 1], pages);
    }
  }
}

}  // namespace heaptape::allocators::lmdb
