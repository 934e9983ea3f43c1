#include "replayer/diff/cohort_diff.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/number_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using schema::CohortFigures;

// Names a shorter stretch of windows only if it has this part of the change and is at most half as
// long.
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
using SizeKey = std::pair<bool, uint64_t>;  // whether other sizes, CohortFigures::size_bytes

void add(const CohortFigures& cohort, Side& side) {
  const auto [found, is_new] = side.windows.try_emplace(cohort.window, cohort);
  if (is_new) return;
  CohortFigures& sum = found->second;
  sum.count += cohort.count;
  sum.bytes += cohort.bytes;
  sum.first_birth = std::min(sum.first_birth, cohort.first_birth);
  sum.last_birth = std::max(sum.last_birth, cohort.last_birth);
}

// One side's bytes of each size, and of the others.
struct Bytes {
  std::map<uint64_t, uint64_t> listed;  // by size
  std::map<uint64_t, uint64_t> bands;   // by smallest size; 0: all others are one band

  explicit Bytes(const std::vector<CohortFigures>& cohorts) {
    for (const CohortFigures& cohort : cohorts) {
      (cohort.is_other_sizes ? bands : listed)[cohort.size_bytes] += cohort.bytes;
    }
  }
  // The most bytes that an unlisted size can have.
  uint64_t most_hidden(uint64_t size) const {
    const auto found = bands.find(bands.contains(0) ? 0 : band_of(size));
    return found == bands.end() ? 0 : found->second;
  }
  static uint64_t band_of(uint64_t size) { return std::max<uint64_t>(1, std::bit_floor(size)); }
};

struct BySize {
  std::map<SizeKey, Size> sizes;
  std::set<SizeKey> about;
};

// A size that one side does not list counts among the other sizes on both sides, unless the
// unlisted blocks of that size can only be few.
BySize by_size(const std::vector<CohortFigures>& base, const std::vector<CohortFigures>& now) {
  constexpr uint64_t kFew = 10;  // times as many are listed
  const Bytes of_base(base);
  const Bytes of_now(now);
  const bool has_bands = !of_base.bands.contains(0) && !of_now.bands.contains(0);
  BySize result;
  const auto key_of = [&](const CohortFigures& cohort, const Bytes& own, const Bytes& other) {
    const uint64_t size = cohort.size_bytes;
    if (cohort.is_other_sizes) return SizeKey{true, has_bands ? size : 0};
    const uint64_t hidden = other.listed.contains(size) ? 0 : other.most_hidden(size);
    if (hidden == 0) return SizeKey{false, size};
    if (own.listed.at(size) / kFew < hidden)
      return SizeKey{true, has_bands ? Bytes::band_of(size) : 0};
    result.about.insert({false, size});
    return SizeKey{false, size};
  };
  for (const CohortFigures& cohort : base) {
    add(cohort, result.sizes[key_of(cohort, of_base, of_now)].base);
  }
  for (const CohortFigures& cohort : now) {
    add(cohort, result.sizes[key_of(cohort, of_now, of_base)].now);
  }
  return result;
}

uint64_t bytes_in(const Side& side, uint32_t window) {
  const auto found = side.windows.find(window);
  return found == side.windows.end() ? 0 : found->second.bytes;
}

struct NamedWindows {
  uint32_t first = 0;
  uint32_t last = 0;
  bool is_most = false;  // but not all of the change
};

// The windows that changed in the direction of the whole, or the shortest stretch of them with most
// of that change.
NamedWindows named_windows(const Size& size, int sign) {
  std::set<uint32_t> windows;
  for (const Side* const side : {&size.base, &size.now}) {
    for (const auto& [window, cohort] : side->windows) windows.insert(window);
  }
  std::map<uint32_t, double> changes;  // only in that direction
  double whole = 0;
  for (const uint32_t window : windows) {
    const int64_t bytes = sign * change(bytes_in(size.base, window), bytes_in(size.now, window));
    if (bytes <= 0) continue;
    changes[window] = static_cast<double>(bytes);
    whole += static_cast<double>(bytes);
  }
  if (changes.empty()) return {*windows.begin(), *windows.rbegin()};
  const NamedWindows all{changes.begin()->first, changes.rbegin()->first};
  NamedWindows best = all;
  double sum = 0;
  auto next = changes.begin();  // after those in the sum
  for (auto first = changes.begin(); first != changes.end(); sum -= first++->second) {
    while (sum < kMost * whole && next != changes.end()) sum += next++->second;
    if (sum < kMost * whole) break;
    const uint32_t last = std::prev(next)->first;
    if (last - first->first < best.last - best.first) best = {first->first, last, sum < whole};
  }
  const bool is_half = 2 * (best.last - best.first + 1) <= all.last - all.first + 1;
  return is_half ? best : all;
}

CohortChange change_of(const SizeKey& key, const Size& size) {
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
  const auto [first, last, is_most] = named_windows(size, sign);
  result.is_most = is_most;
  for (const auto& [window, cohort] : (sign > 0 ? size.now : size.base).windows) {
    if (window < first || window > last) continue;
    if (result.first_birth == 0) result.first_birth = cohort.first_birth;
    result.last_birth = std::max(result.last_birth, cohort.last_birth);
  }
  return result;
}

void diff_moment(const std::string& moment, const std::string& words,
                 const std::vector<CohortFigures>& base, const std::vector<CohortFigures>& now,
                 std::vector<CohortChanges>& all) {
  CohortChanges changes{moment, words, 0, 0, {}};
  for (const CohortFigures& cohort : base) changes.base += cohort.bytes;
  for (const CohortFigures& cohort : now) changes.now += cohort.bytes;
  if (changes.base == changes.now) return;
  const auto [sizes, about] = by_size(base, now);
  for (const auto& [key, size] : sizes) {
    CohortChange one = change_of(key, size);
    one.is_about = about.contains(key);
    if (one.base_bytes != one.now_bytes) changes.sizes.push_back(one);
  }
  std::ranges::stable_sort(changes.sizes, std::greater(), [&changes](const CohortChange& one) {
    return one.share(changes.base, changes.now);
  });
  all.push_back(std::move(changes));
}

// "by #3", "between #3 and #4,001"
std::string births_text(const CohortChange& change) {
  const std::string first = "#" + base::grouped(change.first_birth);
  const std::string text = change.first_birth == change.last_birth
                               ? "by " + first
                               : "between " + first + " and #" + base::grouped(change.last_birth);
  return (change.is_most ? "mostly " : "") + text;
}

// "the plateau, the exit and the end" for "atPlateau", "atExit" and "end".
std::string moments_text(const std::vector<std::string>& states) {
  std::string text;
  for (size_t i = 0; i < states.size(); ++i) {
    if (i != 0) text += i + 1 == states.size() ? " and " : ", ";
    text += "the " + moment_of_state(states[i]);
  }
  return text;
}

}  // namespace

double CohortChange::share(uint64_t base_total, uint64_t now_total) const {
  return static_cast<double>(change(base_bytes, now_bytes)) /
         static_cast<double>(change(base_total, now_total));
}

std::vector<CohortChanges> diff_cohorts(const schema::LiveCohorts& base,
                                        const schema::LiveCohorts& now) {
  std::vector<CohortChanges> all;
  diff_moment("peak", "bytes at the peak", base.peak, now.peak, all);
  diff_moment("end", "bytes at the end", base.end, now.end, all);
  return all;
}

std::vector<CohortChanges> diff_pins(const std::vector<schema::PinCohorts>& base,
                                     const std::vector<schema::PinCohorts>& now) {
  std::vector<CohortChanges> all;
  for (const schema::PinCohorts& after : now) {
    for (const schema::PinCohorts& before : base) {
      std::vector<std::string> states;
      for (const std::string& state : after.states) {
        const bool has_both = std::ranges::find(before.states, state) != before.states.end();
        if (has_both) states.push_back(state);
      }
      if (states.empty()) continue;
      const size_t changed = all.size();
      diff_moment("", "resident bytes in holes at " + moments_text(states), before.cohorts,
                  after.cohorts, all);
      if (all.size() != changed) all.back().states = std::move(states);
    }
  }
  return all;
}

std::string sizes_text(const CohortChange& change) {
  if (!change.is_other_sizes) return base::bytes_text(change.size_bytes);
  if (change.size_bytes == 0) return "many sizes";
  const uint64_t least = change.size_bytes == 1 ? 0 : change.size_bytes;
  return base::bytes_text(least) + " to " + base::bytes_text(2 * change.size_bytes - 1);
}

std::string blocks_text(const CohortChanges& changes) {
  if (changes.sizes.empty()) return "";
  const CohortChange& first = changes.sizes.front();
  if (first.share(changes.base, changes.now) <= 0) return "";
  const bool grew = first.now_count >= first.base_count;
  const uint64_t count =
      grew ? first.now_count - first.base_count : first.base_count - first.now_count;
  std::string text = first.is_about ? "about " : "";
  if (count != 0) text += (grew ? "+" : "-") + base::grouped(count) + " ";
  return text + (count == 1 ? "block of " : "blocks of ") + sizes_text(first) + " alive at the " +
         changes.moment + ", requested " + births_text(first) + ": " +
         change_text(first.base_bytes, first.now_bytes, schema::MetricUnit::kBytes);
}

std::string pins_text(const CohortChanges& changes) {
  if (changes.sizes.empty()) return "";
  constexpr double kGoodPart = 0.2;
  const CohortChange& first = changes.sizes.front();
  const double share = first.share(changes.base, changes.now);
  if (share <= 0) return "";
  const auto bytes = [](uint64_t base, uint64_t now) {
    return change_text(base, now, schema::MetricUnit::kBytes);
  };
  const std::string text = changes.words + ": " + bytes(changes.base, changes.now);
  if (share < kGoodPart) {
    return text + ", beside blocks of many sizes, at most " + signed_share_text(share) +
           " of it beside one";
  }
  const std::string place =
      " beside blocks of " + sizes_text(first) + " requested " + births_text(first);
  if (share <= 1) return text + ", " + signed_share_text(share) + " of it" + place;
  return text + ": " + bytes(first.base_bytes, first.now_bytes) + place + ", " +
         bytes(changes.base - first.base_bytes, changes.now - first.now_bytes) + " beside others";
}

}  // namespace heaptape::replayer
