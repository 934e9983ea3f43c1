#include "replayer/report/cohort_diff.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using schema::CohortFigures;

// Where this part of a change is in at most half of the windows that have any of it, those are
// told.
constexpr double kMost = 0.9;

int64_t change(uint64_t base, uint64_t now) {
  return static_cast<int64_t>(now - base);
}

struct Side {
  std::map<uint32_t, CohortFigures> windows;
};
struct Size {
  Side base;
  Side now;
};
using Key = std::pair<bool, uint64_t>;  // other sizes?, bytes of each

void add(const CohortFigures& cohort, Side& side) {
  const auto [found, is_new] = side.windows.try_emplace(cohort.window, cohort);
  if (is_new) return;
  CohortFigures& sum = found->second;
  sum.count += cohort.count;
  sum.bytes += cohort.bytes;
  sum.first_birth = std::min(sum.first_birth, cohort.first_birth);
  sum.last_birth = std::max(sum.last_birth, cohort.last_birth);
}

// A size that one side has among its others cannot be told apart on the other side either.
std::map<Key, Size> by_size(const std::vector<CohortFigures>& base,
                            const std::vector<CohortFigures>& now) {
  const auto sizes_of = [](const std::vector<CohortFigures>& cohorts) {
    std::set<uint64_t> sizes;
    for (const CohortFigures& cohort : cohorts) {
      if (!cohort.is_other_sizes) sizes.insert(cohort.size_bytes);
    }
    return sizes;
  };
  const auto has_others = [](const std::vector<CohortFigures>& cohorts) {
    return std::ranges::any_of(cohorts, &CohortFigures::is_other_sizes);
  };
  const std::set<uint64_t> of_base = sizes_of(base);
  const std::set<uint64_t> of_now = sizes_of(now);
  const bool base_has_others = has_others(base);
  const bool now_has_others = has_others(now);
  const auto key_of = [&](const CohortFigures& cohort) -> Key {
    if (cohort.is_other_sizes) return {true, 0};
    const bool is_hidden = (base_has_others && !of_base.contains(cohort.size_bytes)) ||
                           (now_has_others && !of_now.contains(cohort.size_bytes));
    return is_hidden ? Key{true, 0} : Key{false, cohort.size_bytes};
  };
  std::map<Key, Size> sizes;
  for (const CohortFigures& cohort : base) add(cohort, sizes[key_of(cohort)].base);
  for (const CohortFigures& cohort : now) add(cohort, sizes[key_of(cohort)].now);
  return sizes;
}

uint64_t bytes_in(const Side& side, uint32_t window) {
  const auto found = side.windows.find(window);
  return found == side.windows.end() ? 0 : found->second.bytes;
}

struct Told {
  uint32_t first = 0;  // of windows
  uint32_t last = 0;
  bool is_most = false;  // but not all of the change
};

// The windows that changed in the direction of the whole, or the fewest, one behind the other, that
// have most of that.
Told told_windows(const Size& size, int sign) {
  std::set<uint32_t> windows;
  for (const Side* const side : {&size.base, &size.now}) {
    for (const auto& [window, cohort] : side->windows) windows.insert(window);
  }
  std::map<uint32_t, double> changes;  // in that direction alone
  double whole = 0;
  for (const uint32_t window : windows) {
    const int64_t bytes = sign * change(bytes_in(size.base, window), bytes_in(size.now, window));
    if (bytes <= 0) continue;
    changes[window] = static_cast<double>(bytes);
    whole += static_cast<double>(bytes);
  }
  if (changes.empty()) return {*windows.begin(), *windows.rbegin()};
  const Told all{changes.begin()->first, changes.rbegin()->first};
  Told best = all;
  for (auto first = changes.begin(); first != changes.end(); ++first) {
    double sum = 0;
    for (auto last = first; last != changes.end(); ++last) {
      sum += last->second;
      if (sum < kMost * whole) continue;
      const uint32_t length = last->first - first->first;
      if (length < best.last - best.first) best = {first->first, last->first, sum < whole};
      break;
    }
  }
  const bool is_half = 2 * (best.last - best.first + 1) <= all.last - all.first + 1;
  return is_half ? best : all;
}

CohortChange change_of(const Key& key, const Size& size) {
  CohortChange result{.size_bytes = key.second, .is_other_sizes = key.first};
  for (const auto& [window, cohort] : size.base.windows) {
    result.base_count += cohort.count;
    result.base_bytes += cohort.bytes;
  }
  for (const auto& [window, cohort] : size.now.windows) {
    result.now_count += cohort.count;
    result.now_bytes += cohort.bytes;
  }
  const int sign = result.now_bytes >= result.base_bytes ? 1 : -1;
  const auto [first, last, is_most] = told_windows(size, sign);
  result.is_most = is_most;
  for (const auto& [window, cohort] : (sign > 0 ? size.now : size.base).windows) {
    if (window < first || window > last) continue;
    if (result.first_birth == 0) result.first_birth = cohort.first_birth;
    result.last_birth = std::max(result.last_birth, cohort.last_birth);
  }
  return result;
}

void diff_moment(const char* moment, const std::vector<CohortFigures>& base,
                 const std::vector<CohortFigures>& now, std::vector<CohortChanges>& all) {
  CohortChanges changes{moment, std::string("bytes at the ") + moment, 0, 0, {}};
  for (const CohortFigures& cohort : base) changes.base += cohort.bytes;
  for (const CohortFigures& cohort : now) changes.now += cohort.bytes;
  if (changes.base == changes.now) return;
  for (const auto& [key, size] : by_size(base, now)) {
    const CohortChange one = change_of(key, size);
    if (one.base_bytes != one.now_bytes) changes.sizes.push_back(one);
  }
  std::ranges::stable_sort(changes.sizes, std::greater(), [&changes](const CohortChange& one) {
    return one.share(changes.base, changes.now);
  });
  all.push_back(std::move(changes));
}

}  // namespace

double CohortChange::share(uint64_t base_total, uint64_t now_total) const {
  return static_cast<double>(change(base_bytes, now_bytes)) /
         static_cast<double>(change(base_total, now_total));
}

std::vector<CohortChanges> diff_cohorts(const schema::LiveCohorts& base,
                                        const schema::LiveCohorts& now) {
  std::vector<CohortChanges> all;
  diff_moment("peak", base.peak, now.peak, all);
  diff_moment("end", base.end, now.end, all);
  return all;
}

std::string blocks_text(const CohortChanges& changes) {
  if (changes.sizes.empty()) return "";
  const CohortChange& first = changes.sizes.front();
  if (first.share(changes.base, changes.now) <= 0) return "";
  const bool grew = first.now_count >= first.base_count;
  const uint64_t count =
      grew ? first.now_count - first.base_count : first.base_count - first.now_count;
  const std::string what =
      first.is_other_sizes ? "of many sizes" : "of " + base::bytes_text(first.size_bytes);
  const std::string place = first.first_birth == first.last_birth
                                ? "by #" + base::grouped(first.first_birth)
                                : "between #" + base::grouped(first.first_birth) + " and #" +
                                      base::grouped(first.last_birth);
  const std::string when = (first.is_most ? "mostly " : "") + place;
  if (count == 0)
    return "blocks " + what + " alive at the " + changes.moment + ", asked for " + when;
  return (grew ? "+" : "-") + base::grouped(count) + (count == 1 ? " block " : " blocks ") + what +
         " alive at the " + changes.moment + ", asked for " + when;
}

}  // namespace heaptape::replayer
