#include "base/near_names.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace heaptape::base {
namespace {

constexpr size_t kMostNames = 3;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

// Levenshtein's: insertions, deletions and replacements of single letters. One row of the table.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// How far `typed` is from `name`, or `too_far` and more.
size_t distance(const std::string& typed, const std::string& name, size_t too_far) {
  if (name.ends_with("." + typed)) return 1;
  const size_t length_gap =
      std::max(typed.size(), name.size()) - std::min(typed.size(), name.size());
  if (length_gap >= too_far) return too_far;  // also keeps a huge argument cheap
  return edit_distance(typed, name);
}

}  // namespace

std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names) {
  const std::string wanted = lower(typed);
  const size_t too_far = std::max<size_t>(3, wanted.size() / 4 + 1);
  std::vector<std::pair<size_t, const std::string*>> found;
  for (const std::string& name : names) {
    const size_t away = distance(wanted, lower(name), too_far);
    if (away < too_far) found.emplace_back(away, &name);
  }
  std::ranges::stable_sort(found, {}, &std::pair<size_t, const std::string*>::first);
  if (found.size() > kMostNames) found.resize(kMostNames);
  std::vector<std::string> result;
  for (const auto& [away, name] : found) result.push_back(*name);
  return result;
}

}  // namespace heaptape::base
