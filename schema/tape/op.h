// The calls a tape records, one enumerator per entry point. Stored in tapes: values never change.
// Free of the C++ run-time library, because the interposer includes it. See docs/tape-format.md.
#pragma once

#include <cstdint>

namespace heaptape::schema {

// What a call does to the heap. A resize both frees its old block and hands out a new one.
enum class OpKind : uint8_t { kAllocate, kResize, kRelease };

// X(enumerator, stored value, name in text dumps, kind, takes an alignment)
#define HEAPTAPE_OPS(X)                                                    \
  X(kMalloc, 1, "malloc", kAllocate, false)                                \
  X(kCalloc, 2, "calloc", kAllocate, false)                                \
  X(kRealloc, 3, "realloc", kResize, false)                                \
  X(kReallocArray, 4, "reallocarray", kResize, false)                      \
  X(kFree, 5, "free", kRelease, false)                                     \
  X(kAlignedAlloc, 6, "aligned_alloc", kAllocate, true)                    \
  X(kPosixMemalign, 7, "posix_memalign", kAllocate, true)                  \
  X(kMemalign, 8, "memalign", kAllocate, true)                             \
  X(kValloc, 9, "valloc", kAllocate, false)                                \
  X(kPvalloc, 10, "pvalloc", kAllocate, false)                             \
  X(kNew, 16, "new", kAllocate, false)                                     \
  X(kNewArray, 17, "new[]", kAllocate, false)                              \
  X(kNewNothrow, 18, "new(nothrow)", kAllocate, false)                     \
  X(kNewArrayNothrow, 19, "new[](nothrow)", kAllocate, false)              \
  X(kNewAligned, 20, "new(align)", kAllocate, true)                        \
  X(kNewArrayAligned, 21, "new[](align)", kAllocate, true)                 \
  X(kNewAlignedNothrow, 22, "new(align,nothrow)", kAllocate, true)         \
  X(kNewArrayAlignedNothrow, 23, "new[](align,nothrow)", kAllocate, true)  \
  X(kDelete, 32, "delete", kRelease, false)                                \
  X(kDeleteArray, 33, "delete[]", kRelease, false)                         \
  X(kDeleteSized, 34, "delete(size)", kRelease, false)                     \
  X(kDeleteArraySized, 35, "delete[](size)", kRelease, false)              \
  X(kDeleteNothrow, 36, "delete(nothrow)", kRelease, false)                \
  X(kDeleteArrayNothrow, 37, "delete[](nothrow)", kRelease, false)         \
  X(kDeleteAligned, 38, "delete(align)", kRelease, false)                  \
  X(kDeleteArrayAligned, 39, "delete[](align)", kRelease, false)           \
  X(kDeleteSizedAligned, 40, "delete(size,align)", kRelease, false)        \
  X(kDeleteArraySizedAligned, 41, "delete[](size,align)", kRelease, false) \
  X(kDeleteAlignedNothrow, 42, "delete(align,nothrow)", kRelease, false)   \
  X(kDeleteArrayAlignedNothrow, 43, "delete[](align,nothrow)", kRelease, false)

enum class Op : uint8_t {
#define HEAPTAPE_OP_ENUMERATOR(name, value, text, kind, aligned) name = value,
  HEAPTAPE_OPS(HEAPTAPE_OP_ENUMERATOR)
#undef HEAPTAPE_OP_ENUMERATOR
};

inline constexpr int kOpLimit = 64;  // every stored value is below

struct OpInfo {
  const char* name = nullptr;  // null: no such op
  OpKind kind = OpKind::kAllocate;
  bool aligned = false;
};

struct OpTable {
  OpInfo rows[kOpLimit];
};

constexpr OpTable make_op_table() {
  OpTable table{};
#define HEAPTAPE_OP_ROW(name, value, text, kind, aligned) \
  table.rows[value] = OpInfo{text, OpKind::kind, aligned};
  HEAPTAPE_OPS(HEAPTAPE_OP_ROW)
#undef HEAPTAPE_OP_ROW
  return table;
}

inline constexpr OpTable kOpTable = make_op_table();

// `op` must be valid: see is_valid_op.
constexpr const OpInfo& op_info(Op op) {
  return kOpTable.rows[static_cast<uint8_t>(op)];
}

constexpr bool is_valid_op(uint8_t stored) {
  return stored < kOpLimit && kOpTable.rows[stored].name != nullptr;
}

}  // namespace heaptape::schema
