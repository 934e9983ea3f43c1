// Why an allocator took memory from the system: the threshold or policy that applied.
// docs/metrics.md, "Growths of the heap".
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace heaptape::allocators {

// Cheap to make and to keep; the sentence is built only when it is read.
struct CommitRule {
  // A string literal, in which each % stands for the next of `numbers`. Null if unknown, or if
  // there was no choice.
  const char* words = nullptr;
  std::array<uint64_t, 2> numbers = {};  // as they were at that moment
};
inline constexpr CommitRule kNoRule;

// "mmap_threshold is 131,072 bytes" for "mmap_threshold is % bytes" and 131072; "" for no rule.
std::string text_of(const CommitRule& rule);

}  // namespace heaptape::allocators
