// The beginning of a function that keeps a frame pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heaptape::recorder {

inline constexpr size_t kPrologueBytes = 4;

// `push %rbp; mov %rsp,%rbp`. The second instruction has two encodings.
inline constexpr uint8_t kPrologues[][kPrologueBytes] = {{0x55, 0x48, 0x89, 0xe5},
                                                         {0x55, 0x48, 0x8b, 0xec}};

// Whether `code` begins with one of them. Also for code without a C library.
constexpr bool begins_with_prologue(std::span<const uint8_t> code) {
  if (code.size() < kPrologueBytes || code[0] != kPrologues[0][0]) return false;
  for (const auto& prologue : kPrologues) {
    size_t same = 0;
    while (same < kPrologueBytes && code[same] == prologue[same]) ++same;
    if (same == kPrologueBytes) return true;
  }
  return false;
}

}  // namespace heaptape::recorder
