// Size classes, four per doubling: 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, ... From 65 bytes
// on, a block wastes less than a fifth of its class.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace heaptape::allocators::textbook {

inline constexpr uint64_t kLeastClassBytes = 16;

// The class of a request, 0 for the smallest.
constexpr uint32_t size_class_of(uint64_t bytes) {
  const uint64_t last = std::max<uint64_t>(bytes, 1) - 1;  // offset of the last byte
  if (last < 64) return static_cast<uint32_t>(last / kLeastClassBytes);
  const int octave = std::bit_width(last) - 1;
  return static_cast<uint32_t>(4 * (octave - 6)) + static_cast<uint32_t>(last >> (octave - 2));
}

constexpr uint64_t size_class_bytes(uint32_t size_class) {
  if (size_class < 4) return (size_class + 1) * kLeastClassBytes;
  return uint64_t{size_class % 4 + 5} << (size_class / 4 + 3);
}

static_assert(size_class_bytes(size_class_of(64)) == 64);
static_assert(size_class_bytes(size_class_of(65)) == 80);
static_assert(size_class_bytes(size_class_of(129)) == 160);

}  // namespace heaptape::allocators::textbook
