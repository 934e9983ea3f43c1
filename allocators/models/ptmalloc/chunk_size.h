// Sizes of chunks in glibc malloc (2.36, malloc/malloc.c, x86-64). All sizes in the heap are
// counted in units of 16 bytes, header included; a request of n bytes takes n + 8 bytes, because a
// block may use the first field of the next header.
#pragma once

#include <cstdint>

namespace heaptape::allocators::ptmalloc {

inline constexpr int kUnitLog2 = 4;
inline constexpr uint64_t kUnitBytes = 1u << kUnitLog2;
inline constexpr uint32_t kMinUnits = 2;
inline constexpr uint64_t kMinBytes = kMinUnits * kUnitBytes;
inline constexpr uint64_t kHeaderBytes = 16;        // of a chunk: its block begins after it
inline constexpr uint64_t kMaxRequest = INT64_MAX;  // PTRDIFF_MAX

inline constexpr uint32_t kFastMaxUnits = 8;    // the default M_MXFAST
inline constexpr uint32_t kSmallEndUnits = 64;  // bins hold one size each below
inline constexpr uint32_t kCacheMaxUnits = 65;  // of the thread caches
inline constexpr uint32_t kCacheBins = kCacheMaxUnits - kMinUnits + 1;
inline constexpr uint64_t kConsolidateUnits = 65536 / kUnitBytes;  // freed at once

// Units of the chunk for a request. bytes <= kMaxRequest.
constexpr uint64_t units_for(uint64_t bytes) {
  return bytes <= 24 ? kMinUnits : (bytes + 23) >> kUnitLog2;
}

constexpr uint64_t to_bytes(uint64_t units) {
  return units << kUnitLog2;
}

// The bytes of a heap chunk that the program may use.
constexpr uint64_t usable_bytes(uint64_t units) {
  return to_bytes(units) - 8;
}

// Bin of a chunk: 1 is the unsorted one, small bins are numbered by their units, and large bins get
// wider by powers of 8 as sizes rise. units >= kSmallEndUnits.
constexpr uint32_t large_bin_of(uint64_t units) {
  const uint64_t bytes = to_bytes(units);
  if (bytes >> 6 <= 48) return static_cast<uint32_t>(48 + (bytes >> 6));
  if (bytes >> 9 <= 20) return static_cast<uint32_t>(91 + (bytes >> 9));
  if (bytes >> 12 <= 10) return static_cast<uint32_t>(110 + (bytes >> 12));
  if (bytes >> 15 <= 4) return static_cast<uint32_t>(119 + (bytes >> 15));
  if (bytes >> 18 <= 2) return static_cast<uint32_t>(124 + (bytes >> 18));
  return 126;
}

constexpr uint32_t bin_of(uint64_t units) {
  return units < kSmallEndUnits ? static_cast<uint32_t>(units) : large_bin_of(units);
}

}  // namespace heaptape::allocators::ptmalloc
