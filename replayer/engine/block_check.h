// What a block must be, whatever the allocator: docs/metrics.md, "Runs that fail".
#pragma once

#include <string>

#include "allocators/replay_op.h"

namespace heaptape::replayer {

// The alignment that the call asked for, at least `granule_bytes`. Of a block of 0 bytes nothing
// more is asked: jemalloc and mimalloc do not align it.
inline uint64_t wanted_alignment(const allocators::ReplayOp& op, uint64_t granule_bytes) {
  if (op.size == 0) return granule_bytes;
  uint64_t asked = 1;
  switch (op.kind) {
    case allocators::ReplayKind::kMemalign:
    case allocators::ReplayKind::kAlignedAlloc:
    case allocators::ReplayKind::kPosixMemalign:
      asked = uint64_t{1} << op.log2;
      break;
    case allocators::ReplayKind::kValloc:
    case allocators::ReplayKind::kPvalloc:
      asked = 4096;
      break;
    default:
      break;
  }
  return asked > granule_bytes ? asked : granule_bytes;
}

// Whether the block that answers `op` is on a granule, large enough, and within user space.
// That it shares no memory with another is HeapMap's to say.
inline bool is_sound(const allocators::ReplayOp& op, const allocators::Placement& block,
                     uint64_t granule_bytes) {
  return block.address % granule_bytes == 0 &&
         (block.usable_bytes >= op.size || op.size >= allocators::kUserSpaceEnd) &&
         block.address < allocators::kUserSpaceEnd &&
         block.usable_bytes < allocators::kUserSpaceEnd - block.address;
}

// What is wrong with it: a sentence about the allocator, "it placed ...".
std::string describe_flaw(const allocators::ReplayOp& op, const allocators::Placement& block,
                          uint64_t granule_bytes);

}  // namespace heaptape::replayer
