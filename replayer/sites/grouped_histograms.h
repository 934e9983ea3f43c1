// Lifetimes by group, for any number of groups: each uses memory only for the buckets that its
// values fall in.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replayer/metrics/log_histogram.h"

namespace heaptape::replayer {

// The buckets are those of LogHistogram.
class GroupedHistograms {
 public:
  GroupedHistograms() : cells_(kFirstCells) {}

  // `times` at least 1.
  void add(uint32_t group, uint64_t value, uint64_t times = 1) {
    const uint64_t key = group * uint64_t{LogHistogram::kBuckets} + LogHistogram::index_of(value);
    cell_of(key).count += times;
  }

  // How many values each group has, by group below `groups`.
  std::vector<uint64_t> totals(size_t groups) const;
  // The value at rank `ranks[group]`, from 1, among the sorted values of each group, within a 64th.
  // Nothing for a rank that no value has.
  std::vector<std::optional<uint64_t>> values_at(const std::vector<uint64_t>& ranks) const;

 private:
  struct Cell {
    uint64_t key;
    uint64_t count;  // 0: a free cell
  };
  static constexpr size_t kFirstCells = 1 << 10;

  // Linear probing in a table of a power of two, at most half full.
  Cell& cell_of(uint64_t key) {
    Cell& cell = find(key);
    if (cell.count != 0) [[likely]]
      return cell;
    return new_cell(key);
  }
  Cell& find(uint64_t key) {
    const size_t mask = cells_.size() - 1;
    size_t at = (key * 0x9e3779b97f4a7c15u >> 20) & mask;  // 2^64 over the golden ratio
    while (cells_[at].count != 0 && cells_[at].key != key) at = (at + 1) & mask;
    return cells_[at];
  }
  Cell& new_cell(uint64_t key);
  std::vector<Cell> sorted() const;  // those in use

  std::vector<Cell> cells_;
  size_t taken_ = 0;
};

}  // namespace heaptape::replayer
