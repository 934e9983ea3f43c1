// Where the section and the code of target `unwind` are.
#pragma once

#include <cstdint>

#include "recorder/unwind/unwind_compiler.h"

namespace heaptape::fuzz {

inline constexpr uint64_t kUnwindSection = 0x20000;
// Not a whole number of pages.
inline constexpr recorder::CodeSegment kUnwindCode{0x1000, 0x8010, 0x3456};
inline constexpr recorder::CodeSegment kMoreUnwindCode{0x5000, 0xc000, 0x1000};

}  // namespace heaptape::fuzz
