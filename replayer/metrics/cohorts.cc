#include "replayer/metrics/cohorts.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <utility>

namespace heaptape::replayer {
namespace {

void add_to(Cohort& sum, const Cohort& part) {
  if (part.count == 0) return;
  sum.first_birth = sum.count == 0 ? part.first_birth : std::min(sum.first_birth, part.first_birth);
  sum.last_birth = std::max(sum.last_birth, part.last_birth);
  sum.count += part.count;
  sum.bytes += part.bytes;
}

}  // namespace

void Cohorts::add(uint64_t size_bytes, uint64_t birth, uint64_t bytes) {
  const uint64_t calls_a_window = run_calls_ / kWindows + 1;
  const uint64_t window = std::min<uint64_t>((birth - 1) / calls_a_window, kWindows - 1);
  add_to(by_size_[size_bytes][window],
         {.count = 1, .bytes = bytes, .first_birth = birth, .last_birth = birth});
}

std::vector<Cohort> Cohorts::list() const {
  std::vector<std::pair<uint64_t, uint64_t>> sizes;  // bytes, size
  for (const auto& [size, windows] : by_size_) {
    uint64_t bytes = 0;
    for (const Cohort& cohort : windows) bytes += cohort.bytes;
    sizes.emplace_back(bytes, size);
  }
  std::ranges::sort(sizes, std::greater());
  const size_t listed = std::min(sizes.size(), most_sizes_);
  std::ranges::sort(sizes.begin(), sizes.begin() + static_cast<long>(listed), {},
                    [](const auto& size) { return size.second; });
  std::map<uint64_t, Windows> others;  // by the least size of their band
  std::vector<Cohort> list;
  const auto put = [&list](const Windows& windows, uint64_t size, bool is_other_sizes) {
    for (uint32_t window = 0; window < kWindows; ++window) {
      if (windows[window].count == 0) continue;
      list.push_back(windows[window]);
      list.back().size_bytes = size;
      list.back().is_other_sizes = is_other_sizes;
      list.back().window = window;
    }
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t size = sizes[i].second;
    const Windows& windows = by_size_.at(size);
    if (i < listed) {
      put(windows, size, false);
      continue;
    }
    Windows& band = others[std::max<uint64_t>(1, std::bit_floor(size))];
    for (uint32_t window = 0; window < kWindows; ++window) add_to(band[window], windows[window]);
  }
  for (const auto& [least, windows] : others) put(windows, least, true);
  return list;
}

}  // namespace heaptape::replayer
