// The constants of model:slabs: size classes, slabs and cache slots, those of jemalloc 5.3.0 built
// for 64-bit Linux with 4 KiB pages. Its rules are restated here and evaluated by the compiler.
//
//   bytes   8 | 16 32 48 64 | 80 96 112 128 | 160 192 224 256 | ... 14336 | 16384 20480 ...
//   class   0 |  1  2  3  4 |  5  6   7   8 |   9  10  11  12 | ...    35 |    36    37 ...
//             '------- small: regions of a slab, four a doubling ---------'  large: pages
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>

#include "allocators/models/model.h"

namespace heaptape::allocators::slabs {

inline constexpr uint64_t kQuantumBytes = 16;
inline constexpr uint64_t kLineBytes = 64;  // of the processor's cache
inline constexpr uint32_t kSmallClasses = 36;
inline constexpr uint64_t kSmallMaxBytes = 14336;
inline constexpr uint64_t kLargeMinBytes = 16384;
inline constexpr uint64_t kLargestBytes = uint64_t{7} << 60;
inline constexpr uint32_t kClasses = 232;
inline constexpr uint32_t kCachedClasses = 41;  // up to 32 KiB, opt.tcache_max
// After each large block, so that it can start at any line of its first page (opt.cache_oblivious).
inline constexpr uint64_t kLargePadBytes = kPageBytes;

constexpr uint64_t class_bytes(uint32_t size_class) {
  if (size_class == 0) return 8;
  const uint32_t group = (size_class - 1) / 4;
  const uint64_t steps = (size_class - 1) % 4 + 1;
  return group == 0 ? steps * 16 : (uint64_t{64} << (group - 1)) + (steps * 16 << (group - 1));
}

// The class for `bytes`, at most kLargestBytes, by arithmetic.
constexpr uint32_t computed_class_of(uint64_t bytes) {
  if (bytes <= 8) return 0;
  if (bytes <= 64) return static_cast<uint32_t>((bytes + 15) / 16);
  const int log2 = std::bit_width(bytes - 1) - 1;
  const auto step = static_cast<uint32_t>((bytes - 1) >> (log2 - 2) & 3);
  return 1 + static_cast<uint32_t>(log2 - 5) * 4 + step;
}

inline constexpr uint64_t kTableMaxBytes = 4096;
inline constexpr auto kClassTable = [] {
  std::array<uint8_t, kTableMaxBytes / 8 + 1> table{};
  for (uint64_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<uint8_t>(computed_class_of(i * 8));
  return table;
}();

constexpr uint32_t class_of(uint64_t bytes) {
  return bytes <= kTableMaxBytes ? kClassTable[(bytes + 7) / 8] : computed_class_of(bytes);
}

struct SlabGeometry {
  uint32_t region_bytes = 0;
  uint32_t pages = 0;
  uint32_t regions = 0;
  uint32_t reciprocal = 0;  // ceil(2^32 / region_bytes)

  constexpr uint64_t bytes() const { return pages * kPageBytes; }
  // `offset` is that of a region's start. Exact: the error is below a 2^17th of a region.
  constexpr uint32_t region_at(uint64_t offset) const {
    return static_cast<uint32_t>(offset * reciprocal >> 32);
  }
};

// The fewest pages that regions fill without remainder.
inline constexpr auto kSlabs = [] {
  std::array<SlabGeometry, kSmallClasses> slabs{};
  for (uint32_t size_class = 0; size_class < kSmallClasses; ++size_class) {
    const uint64_t region = class_bytes(size_class);
    const uint64_t bytes = std::lcm(region, kPageBytes);
    slabs[size_class] = {static_cast<uint32_t>(region), static_cast<uint32_t>(bytes / kPageBytes),
                         static_cast<uint32_t>(bytes / region),
                         static_cast<uint32_t>(((uint64_t{1} << 32) + region - 1) / region)};
  }
  return slabs;
}();
inline constexpr uint32_t kMaxRegions = 512;

// How many blocks of a class a thread keeps.
constexpr uint32_t cache_slots(uint32_t size_class) {
  return size_class < kSmallClasses ? std::clamp(2 * kSlabs[size_class].regions, 20u, 200u) : 20;
}

// Page classes: the classes that are whole pages, of 4096 bytes or more, by which extents are
// found. There are 199, and one for anything larger.
inline constexpr uint32_t kPageClasses = 200;

constexpr uint64_t page_class_bytes(uint32_t page_class) {
  const uint32_t group = page_class / 4;
  const uint64_t steps = page_class % 4 + 1;
  if (group == 0) return steps << kPageLog2;
  return (uint64_t{1} << (kPageLog2 + 1 + group)) + (steps << (kPageLog2 - 1 + group));
}

// The smallest page class of at least `bytes`. bytes > 0.
constexpr uint32_t page_class_of(uint64_t bytes) {
  if (bytes > kLargestBytes) return kPageClasses - 1;
  const int log2 = bytes == 1 ? 0 : std::bit_width(bytes - 1);
  const int group = std::max(log2 - kPageLog2 - 2, 0);
  const int step_log2 = kPageLog2 + std::max(group - 1, 0);
  return static_cast<uint32_t>(group) * 4 + static_cast<uint32_t>((bytes - 1) >> step_log2 & 3);
}

// The bin of a free extent: that of the largest large block (with its pad) that fits. `bytes` is a
// multiple of the page size.
constexpr uint32_t extent_bin_of(uint64_t bytes) {
  const uint32_t above = page_class_of(bytes - kLargePadBytes + 1);
  const uint64_t floor = above == 0 ? bytes : page_class_bytes(above - 1) + kLargePadBytes;
  return page_class_of(floor);
}

// The first bin whose extents are all large enough for `bytes`.
constexpr uint32_t first_bin_for(uint64_t bytes) {
  const uint32_t above = page_class_of(bytes - kLargePadBytes + 1);
  if (above == 0 || page_class_bytes(above - 1) + kLargePadBytes == bytes) {
    return extent_bin_of(bytes);
  }
  return page_class_of(page_class_bytes(above) + kLargePadBytes);
}

}  // namespace heaptape::allocators::slabs
