// Statistics of a heap's holes at one moment. docs/metrics.md defines each number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/address/address_range.h"

namespace heaptape::replayer {

using base::AddressRange;

struct HoleBucket {
  uint64_t count = 0;
  uint64_t bytes = 0;

  bool operator==(const HoleBucket&) const = default;
};

struct HoleStats {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t largest = 0;      // bytes
  uint64_t over_64_kib = 0;  // number with at least 64 KiB
  uint64_t over_1_mib = 0;
  uint64_t over_8_mib = 0;
  uint64_t top_bytes = 0;  // free ends of regions: not holes, not in any other number here
  std::array<HoleBucket, 64> histogram{};  // [n]: holes from 1 << n bytes up to twice that

  bool operator==(const HoleStats&) const = default;
};

// The kinds of a gap, a maximal free run within one region.
enum class GapKind {
  kTop,     // reaches the end of the region: not yet used by the allocator
  kHeader,  // at the beginning, and short: the allocator's own
  kInner,   // a hole, unless it is too small for any block
};

// A change to a gap, or to the block in one. The value is what it adds to a count.
enum class Change : int { kGone = -1, kCame = 1 };

constexpr Change opposite(Change change) {
  return change == Change::kCame ? Change::kGone : Change::kCame;
}

inline constexpr uint64_t kMaxHeaderBytes = 4095;

constexpr GapKind gap_kind(AddressRange region, AddressRange gap) {
  if (gap.end == region.end) return GapKind::kTop;
  if (gap.begin == region.begin && gap.bytes() <= kMaxHeaderBytes) return GapKind::kHeader;
  return GapKind::kInner;
}

}  // namespace heaptape::replayer
