// Pages of x86-64. Free of the C++ run-time library.
#pragma once

#include <cstdint>

namespace heaptape::schema {

inline constexpr uint64_t kPageBytes = 4096;

constexpr uint64_t page_down(uint64_t address) {
  return address & ~(kPageBytes - 1);
}
// Requires room for it: at most UINT64_MAX - kPageBytes + 1.
constexpr uint64_t page_up(uint64_t address) {
  return page_down(address + kPageBytes - 1);
}

}  // namespace heaptape::schema
