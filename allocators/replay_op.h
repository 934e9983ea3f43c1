// The input and output of an allocator during replay. Shared with the worker process: does not need
// the C++ run-time library.
#pragma once

#include <bit>
#include <cstdint>

namespace heaptape::allocators {

// A recorded call reduced to what an allocator must do. operator new is malloc (aligned:
// aligned_alloc), delete is free, realloc(NULL, n) is malloc, realloc(p, 0) that freed is free.
enum class ReplayKind : uint8_t {
  kNothing,  // nothing to replay: the call failed when it was recorded, or freed an unknown block
  kMalloc,
  kCalloc,
  kMemalign,
  kAlignedAlloc,
  kPosixMemalign,
  kValloc,
  kPvalloc,
  kRealloc,
  kFree,
  kFreeNull,
};
inline constexpr int kReplayKinds = 11;

// Where an aligned block lies in its chunk depends on the address of the heap. So a replayed heap
// begins where the recorded one did, modulo this: more than any alignment served from a heap.
inline constexpr uint64_t kBreakPeriodBytes = uint64_t{64} << 20;

const char* name_of(ReplayKind kind);

struct ReplayOp {
  ReplayKind kind = ReplayKind::kNothing;
  // The alignment's, for the three kinds that take one; for kRealloc, see growth_log2().
  uint8_t log2 = 0;
  uint16_t thread = 0;  // recorded thread modulo 65,536: threads that far apart share one
  uint32_t slot = 0;    // dense, reused after a free; realloc keeps its block's slot
  uint64_t size = 0;    // requested bytes; for kFree those of its block
};
static_assert(sizeof(ReplayOp) == 16, "four to a cache line");

// The most ops that a real allocator runs without a pause: when only its time is taken, enough for
// warm caches.
inline constexpr uint32_t kMaxBatchOps = 1u << 19;

// No request beyond this can be met. (A tape has them only where it is damaged.) For some near
// 2^64, tcmalloc 2.10 gives a small block.
inline constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 47;

inline constexpr uint8_t kNoGrowth = 0xff;

// The logarithm of the bytes that a block gains by a resize from `old_bytes` to `bytes`, rounded
// up; kNoGrowth if it gains none.
constexpr uint8_t growth_log2(uint64_t old_bytes, uint64_t bytes) {
  if (bytes <= old_bytes) return kNoGrowth;
  const int log2 = std::bit_width(bytes - old_bytes - 1);
  return static_cast<uint8_t>(log2 < 64 ? log2 : 63);
}

// The program writes the block that `op` places from this byte on; it wrote the bytes before when
// the block was smaller. As growth is rounded up, this may be too early by as much.
constexpr uint64_t first_new_byte(const ReplayOp& op) {
  if (op.kind != ReplayKind::kRealloc) return 0;
  if (op.log2 == kNoGrowth) return op.size;
  const uint64_t growth_bytes = uint64_t{1} << op.log2;
  return op.size > growth_bytes ? op.size - growth_bytes : 0;
}

// Where a block is. Address 0 if the op placed none (a free), or the allocator had no room.
struct Placement {
  uint64_t address = 0;
  uint64_t usable_bytes = 0;  // at least the requested size

  bool operator==(const Placement&) const = default;
};
static_assert(sizeof(Placement) == 16);

}  // namespace heaptape::allocators
