// The code that a recorded process has mapped, and where the tables of its rules are
// (unwind_table.h): the file of tables, which the collector writes and all recorded processes map
// for reading. Its contents never change; the collector appends. Free of the C++ run-time library.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// The size of the file, most of which takes no memory. Offset 0 means none.
inline constexpr uint64_t kCodeFileBytes = uint64_t{1} << 30;
inline constexpr uint64_t kCodeMapMagic = 0x3170616d65646f63;  // "codemap1"

// The word that processes get: where their map is, and how often libraries were closed before.
constexpr uint64_t map_offset_of(uint64_t word) {
  return word & 0xffffffff;
}
constexpr uint64_t after_a_close(uint64_t word, uint64_t offset) {
  return ((word >> 32) + 1) << 32 | offset;
}
constexpr uint64_t with_map(uint64_t word, uint64_t offset) {
  return (word & ~uint64_t{0xffffffff}) | offset;
}
static_assert(kCodeFileBytes <= 0xffffffff);

// An executable mapping.
struct CodeRange {
  uint64_t begin;  // addresses
  uint64_t end;
  uint64_t offset;  // of `begin` in its segment
  uint64_t table;   // in the file: its segment's UnwindTable; 0 if it has none; or kMadeCode
};
inline constexpr uint64_t kMadeCode = 1;  // from no file: made at run time

static_assert(sizeof(CodeRange) == 32);

// The ranges follow, in ascending order; they do not overlap.
struct CodeMap {
  uint64_t magic;
  uint64_t file_bytes;  // all that it needs of the file is below
  uint64_t ranges;
  uint64_t padding;
};
static_assert(sizeof(CodeMap) == 32);

// The range in which `address` lies, or null.
inline const CodeRange* find_range(const CodeMap& map, uint64_t address) {
  const auto* const ranges = reinterpret_cast<const CodeRange*>(&map + 1);
  uint64_t low = 0;
  uint64_t high = map.ranges;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (ranges[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < map.ranges && ranges[low].begin <= address ? &ranges[low] : nullptr;
}

}  // namespace heaptape::recorder
