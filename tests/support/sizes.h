// Units of sizes in bytes, for tests.
#pragma once

#include <cstdint>

namespace heaptape::tests {

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;

}  // namespace heaptape::tests
