// What a few bytes of x86-64 code say of a function's frame, where no table does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "recorder/unwind/prologue.h"
#include "recorder/unwind/unwind_table.h"

namespace heaptape::recorder {

inline constexpr size_t kMostEpilogueBytes = 32;

// `code` is what runs once a call has returned, as far as it is known. If all that it does is to
// give up the frame and to return, `rule` says how; it is exact: this is what will happen. True for
// `[add $N,%rsp;] [pop ...;] ret` and `[add $N,%rsp;] leave; ret`.
bool read_epilogue(std::span<const uint8_t> code, UnwindRule& rule);

// Whether `push %rbp; mov %rsp,%rbp` is in `code`.
bool has_prologue(std::span<const uint8_t> code);

inline constexpr size_t kMostCallBytes = 7;

// Whether a call can end where `code`, the bytes before an address, ends.
bool ends_in_call(std::span<const uint8_t> code);

}  // namespace heaptape::recorder
