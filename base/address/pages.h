// Pages of x86-64, and rounding. Free of the C++ run-time library.
#pragma once

#include <cstdint>

namespace heaptape::base {

inline constexpr uint64_t kPageBytes = 4096;

// `multiple` is a power of two in both; the caller rules out overflow.
constexpr uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) & ~(multiple - 1);
}

constexpr uint64_t round_down(uint64_t value, uint64_t multiple) {
  return value & ~(multiple - 1);
}

constexpr uint64_t page_down(uint64_t address) {
  return round_down(address, kPageBytes);
}
// Requires `address` to be at most UINT64_MAX - kPageBytes + 1.
constexpr uint64_t page_up(uint64_t address) {
  return round_up(address, kPageBytes);
}

}  // namespace heaptape::base
