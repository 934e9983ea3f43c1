// The allocator of a recorded process, as passed from there to the tape. Free of the C++ run-time
// library.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

inline constexpr uint32_t kAllocatorPathBytes = 256;
inline constexpr uint32_t kFamilyBytes = 16;
inline constexpr uint32_t kVersionBytes = 24;

// Each text ends in 0; empty if unknown. Written by the process, so to the collector it is only a
// claim.
struct AllocatorFacts {
  char path[kAllocatorPathBytes];  // of the library that serves malloc
  char family[kFamilyBytes];       // "glibc", "musl", "jemalloc", ...
  char version[kVersionBytes];     // "2.36"
  char libc[kVersionBytes];        // of the process: "glibc 2.36", "musl"
};
static_assert(sizeof(AllocatorFacts) == 320);

}  // namespace heaptape::recorder
