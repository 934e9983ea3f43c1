// The calls by which a program maps memory itself, one enumerator for each that is recorded. Free
// of the C++ run-time library, because the interposer includes it.
#pragma once

#include <cstdint>

namespace heaptape::schema {

// X(enumerator, stored value, name in text)
#define HEAPTAPE_MAPPING_OPS(X) \
  X(kMap, 1, "mmap")            \
  X(kUnmap, 2, "munmap")        \
  X(kProtect, 3, "mprotect")    \
  X(kAdvise, 4, "madvise")      \
  X(kGrowBreak, 5, "brk+")      \
  X(kShrinkBreak, 6, "brk-")

enum class MappingOp : uint8_t {
#define HEAPTAPE_MAPPING_ENUMERATOR(name, value, text) name = value,
  HEAPTAPE_MAPPING_OPS(HEAPTAPE_MAPPING_ENUMERATOR)
#undef HEAPTAPE_MAPPING_ENUMERATOR
};

// Null: no such op.
constexpr const char* mapping_op_name(uint64_t stored) {
  switch (stored) {
#define HEAPTAPE_MAPPING_CASE(name, value, text) \
  case value:                                    \
    return text;
    HEAPTAPE_MAPPING_OPS(HEAPTAPE_MAPPING_CASE)
#undef HEAPTAPE_MAPPING_CASE
  }
  return nullptr;
}

}  // namespace heaptape::schema
