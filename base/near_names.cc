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

// How far `typed` is from `name`, or at least `too_far`.
size_t plain_distance(const std::string& typed, std::string_view name, size_t too_far) {
  const size_t length_gap =
      std::max(typed.size(), name.size()) - std::min(typed.size(), name.size());
  if (length_gap >= too_far) return too_far;  // also keeps a huge argument cheap
  return edit_distance(typed, name);
}

// The same, or one more than the distance to the last part of `name`, if that is less.
size_t distance(const std::string& typed, const std::string& name, size_t too_far) {
  const size_t whole = plain_distance(typed, name, too_far);
  const size_t mark = name.find_last_of(".:");
  if (mark == name.npos) return whole;
  const std::string_view last = std::string_view(name).substr(mark + 1);
  return std::min(whole, 1 + plain_distance(typed, last, too_far));
}

}  // namespace

std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names) {
  const std::string wanted = lower(typed);
  // One letter in four may be wrong, two in short names, but not all.
  const size_t too_far = std::min(std::max<size_t>(3, wanted.size() / 4 + 1), wanted.size());
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

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  const std::vector<std::string> near = near_names(typed, names);
  if (near.empty()) return "";
  std::string list = near.front();
  for (size_t i = 1; i < near.size(); ++i) list += (i + 1 < near.size() ? ", " : " or ") + near[i];
  return " (did you mean " + list + "?)";
}

}  // namespace heaptape::base
