#include "replayer/sites/grouped_histograms.h"

#include <algorithm>
#include <utility>

namespace heaptape::replayer {

GroupedHistograms::Cell& GroupedHistograms::new_cell(uint64_t key) {
  if (2 * ++taken_ > cells_.size()) {
    std::vector<Cell> old(2 * cells_.size());
    std::swap(old, cells_);
    for (const Cell& cell : old) {
      if (cell.count != 0) find(cell.key) = cell;
    }
  }
  Cell& cell = find(key);
  cell.key = key;
  return cell;
}

std::vector<uint64_t> GroupedHistograms::totals(size_t groups) const {
  std::vector<uint64_t> totals(groups);
  for (const Cell& cell : cells_) {
    const uint64_t group = cell.key / LogHistogram::kBuckets;
    if (group < groups) totals[group] += cell.count;
  }
  return totals;
}

std::vector<GroupedHistograms::Cell> GroupedHistograms::sorted() const {
  std::vector<Cell> used;
  std::ranges::copy_if(cells_, std::back_inserter(used),
                       [](const Cell& cell) { return cell.count != 0; });
  std::ranges::sort(used, {}, &Cell::key);
  return used;
}

std::vector<std::optional<uint64_t>> GroupedHistograms::values_at(
    const std::vector<uint64_t>& ranks) const {
  std::vector<std::optional<uint64_t>> values(ranks.size());
  std::vector<uint64_t> before(ranks.size());
  for (const Cell& cell : sorted()) {
    const uint64_t group = cell.key / LogHistogram::kBuckets;
    if (group >= ranks.size()) continue;
    const uint64_t rank = ranks[group];
    if (before[group] < rank && rank <= before[group] + cell.count) {
      values[group] = LogHistogram::middle_of(cell.key % LogHistogram::kBuckets);
    }
    before[group] += cell.count;
  }
  return values;
}

}  // namespace heaptape::replayer
