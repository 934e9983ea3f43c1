// Requested sizes from one to another. Free of the C++ run-time library.
#pragma once

#include <cstdint>

namespace heaptape::schema {

struct SizeRange {
  uint64_t least = 0;  // in bytes
  uint64_t most = 0;   // at least `least`

  bool has(uint64_t bytes) const { return bytes - least <= most - least; }
  bool operator==(const SizeRange&) const = default;
};

// How many ranges a recorder takes.
inline constexpr uint32_t kMostSizeRanges = 8;

}  // namespace heaptape::schema
