// Which sizes an allocator is assumed to serve from one list of freed blocks. docs/tape-format.md.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heaptape::schema {

// Stored in tapes: values never change.
enum class SizeClasses : uint8_t {
  kChunks = 0,    // steps of 16 bytes, of which 8 are the block's header: glibc
  kQuarters = 1,  // four a doubling, from 128 bytes on: jemalloc, mimalloc
  kEighths = 2,   // eight a doubling, from 128 bytes on: tcmalloc
};
inline constexpr size_t kSizeClassings = 3;
inline constexpr size_t kMostSizeClasses = 256;  // of one of them

// Those that fit an allocator of this family, as TapeHeader has it, most likely.
constexpr SizeClasses likely_size_classes(std::string_view family) {
  if (family == "jemalloc" || family == "mimalloc") return SizeClasses::kQuarters;
  return family == "tcmalloc" ? SizeClasses::kEighths : SizeClasses::kChunks;
}

// Below kMostSizeClasses; the last class takes the rest.
constexpr uint8_t compute_size_class(SizeClasses classes, uint64_t size) {
  const bool has_header = classes == SizeClasses::kChunks;
  const int linear_log2 = has_header ? 10 : 7;
  const int step_log2 = classes == SizeClasses::kEighths ? 3 : 2;  // of the classes in a doubling
  const uint64_t bytes = has_header ? std::clamp<uint64_t>(size, 9, UINT64_MAX - 8) + 8 : size;
  if (bytes <= uint64_t{1} << linear_log2) return static_cast<uint8_t>((bytes + 15) / 16);
  const int log2 = std::bit_width(bytes - 1) - 1;
  const uint64_t part = ((bytes - 1) >> (log2 - step_log2)) & ((uint64_t{1} << step_log2) - 1);
  const uint64_t index = (uint64_t{1} << (linear_log2 - 4)) + 1 +
                         (static_cast<uint64_t>(log2 - linear_log2) << step_log2) + part;
  return static_cast<uint8_t>(std::min<uint64_t>(index, kMostSizeClasses - 1));
}

// The class of each kind in a byte of its own.
constexpr uint32_t compute_all_size_classes(uint64_t size) {
  uint32_t all = 0;
  for (size_t i = 0; i < kSizeClassings; ++i) {
    all |= uint32_t{compute_size_class(static_cast<SizeClasses>(i), size)} << (8 * i);
  }
  return all;
}
constexpr uint8_t one_of(uint32_t all, SizeClasses classes) {
  return static_cast<uint8_t>(all >> (8 * static_cast<uint32_t>(classes)));
}

inline constexpr uint64_t kTabulatedSizes = 1024;
inline constexpr auto kSmallSizeClasses = [] {
  std::array<uint32_t, kTabulatedSizes> all{};
  for (uint64_t size = 0; size < kTabulatedSizes; ++size)
    all[size] = compute_all_size_classes(size);
  return all;
}();

inline uint32_t all_size_classes(uint64_t size) {
  if (size < kTabulatedSizes) [[likely]]
    return kSmallSizeClasses[size];
  return compute_all_size_classes(size);
}
inline uint8_t size_class(SizeClasses classes, uint64_t size) {
  if (size < kTabulatedSizes) [[likely]]
    return one_of(kSmallSizeClasses[size], classes);
  return compute_size_class(classes, size);
}

}  // namespace heaptape::schema
