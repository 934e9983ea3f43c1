// Divides an amount among those who want it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptape::recorder {

// How much each may have at most, where each now has `amounts`: max-min fair (Bertsekas, Gallager,
// Data Networks, 6.5.2). Those who have less than an equal share keep what they have, and the
// others divide the rest. The one that has most may always have more.
inline uint64_t fair_share(std::vector<uint64_t> amounts, uint64_t whole) {
  std::ranges::sort(amounts);
  size_t sharers = std::max<size_t>(1, amounts.size());
  for (const uint64_t amount : amounts) {
    if (sharers == 1 || amount >= whole / sharers) break;
    whole -= amount;
    --sharers;
  }
  return whole / sharers;
}

}  // namespace heaptape::recorder
