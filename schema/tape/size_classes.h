// Which sizes an allocator is assumed to serve from one list of freed blocks. docs/tape-format.md.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace heaptape::schema {

// Stored in tapes: values never change.
enum class SizeClasses : uint8_t {
  kChunks = 0,    // steps of 16 bytes, of which 8 are the block's header: glibc
  kQuarters = 1,  // four a doubling, from 128 bytes on: jemalloc, mimalloc
  kEighths = 2,   // eight a doubling, from 128 bytes on: tcmalloc
  kVersion1 = 3,  // of version 1, whose chunks do not name any
};
inline constexpr size_t kSizeClassKinds = 3;     // that chunks name
inline constexpr size_t kMostSizeClasses = 256;  // of a kind

// Those that fit an allocator of this family, as TapeHeader has it, most likely.
constexpr SizeClasses likely_size_classes(std::string_view family) {
  if (family == "jemalloc" || family == "mimalloc") return SizeClasses::kQuarters;
  return family == "tcmalloc" ? SizeClasses::kEighths : SizeClasses::kChunks;
}

struct SizeClassRule {
  uint64_t least_bytes;   // that count
  uint64_t header_bytes;  // that count, too
  int linear_log2;        // up to there a class is 16 bytes wide
  int step_log2;          // of the classes in a doubling above
  uint64_t last;          // takes the rest
};
inline constexpr SizeClassRule kSizeClassRules[] = {
    {9, 8, 10, 2, 255}, {0, 0, 7, 2, 255}, {0, 0, 7, 3, 255}, {0, 0, 10, 2, 127}};

// Below kMostSizeClasses.
constexpr uint8_t compute_size_class(SizeClasses classes, uint64_t size) {
  const SizeClassRule& rule = kSizeClassRules[static_cast<size_t>(classes)];
  const uint64_t most = UINT64_MAX - rule.header_bytes;
  const uint64_t bytes = std::clamp(size, rule.least_bytes, most) + rule.header_bytes;
  if (bytes <= uint64_t{1} << rule.linear_log2) return static_cast<uint8_t>((bytes + 15) / 16);
  const int log2 = std::bit_width(bytes - 1) - 1;
  const uint64_t steps = uint64_t{1} << rule.step_log2;
  const uint64_t step = ((bytes - 1) >> (log2 - rule.step_log2)) % steps;
  const auto doublings = static_cast<uint64_t>(log2 - rule.linear_log2);
  const uint64_t index = (uint64_t{1} << (rule.linear_log2 - 4)) + 1 + doublings * steps + step;
  return static_cast<uint8_t>(std::min(index, rule.last));
}

// The class of each of the first kinds, in a byte of its own.
constexpr uint32_t compute_all_size_classes(uint64_t size, size_t kinds = kSizeClassKinds) {
  uint32_t all = 0;
  for (size_t i = 0; i < kinds; ++i) {
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
  for (uint64_t size = 0; size < kTabulatedSizes; ++size) {
    all[size] = compute_all_size_classes(size, std::size(kSizeClassRules));
  }
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
