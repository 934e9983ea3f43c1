#include "allocators/replay_op.h"

namespace heaptape::allocators {

const char* name_of(ReplayKind kind) {
  switch (kind) {
    case ReplayKind::kNothing:
      return "nothing";
    case ReplayKind::kMalloc:
      return "malloc";
    case ReplayKind::kCalloc:
      return "calloc";
    case ReplayKind::kMemalign:
      return "memalign";
    case ReplayKind::kAlignedAlloc:
      return "aligned_alloc";
    case ReplayKind::kPosixMemalign:
      return "posix_memalign";
    case ReplayKind::kValloc:
      return "valloc";
    case ReplayKind::kPvalloc:
      return "pvalloc";
    case ReplayKind::kRealloc:
      return "realloc";
    case ReplayKind::kFree:
      return "free";
    case ReplayKind::kFreeNull:
      return "free(NULL)";
  }
  return "?";
}

}  // namespace heaptape::allocators
