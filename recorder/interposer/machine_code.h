// Learns about a function's frame from a few bytes of x86-64 code, where no table does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "recorder/unwind/prologue.h"
#include "recorder/unwind/unwind_table.h"

namespace heaptape::recorder {

inline constexpr size_t kMostEpilogueBytes = 32;

// `code` runs once a call has returned, as far as it is known. If all it does is release the frame
// and return, `rule` says how, exactly: this is what will happen. True for
// `[add $N,%rsp;] [pop ...;] ret` and `[add $N,%rsp;] leave; ret`.
bool read_epilogue(std::span<const uint8_t> code, UnwindRule& rule);

// Whether `push %rbp; mov %rsp,%rbp` is in `code`.
bool has_prologue(std::span<const uint8_t> code);

inline constexpr size_t kMostCallBytes = 7;

// Whether a call can end where `code`, the bytes before an address, ends.
bool ends_in_call(std::span<const uint8_t> code);

}  // namespace heaptape::recorder
