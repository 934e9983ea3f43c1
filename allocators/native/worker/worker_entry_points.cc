#include "allocators/native/worker/worker_entry_points.h"

#include "base/address/pages.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;

void* allocate_aligned(const EntryPoints& entry_points, size_t alignment, size_t size) {
  void* block = nullptr;
  if (entry_points.posix_memalign && alignment >= sizeof(void*)) {
    return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
  }
  if (entry_points.aligned_alloc) return aligned_alloc(alignment, size);
  if (entry_points.memalign) return memalign(alignment, size);
  return nullptr;
}

void* allocate_pages(const EntryPoints& entry_points, size_t size) {
  if (entry_points.pvalloc) return pvalloc(size);
  if (size > SIZE_MAX - kPageBytes) return nullptr;
  return allocate_aligned(entry_points, kPageBytes, base::page_up(size));
}

}  // namespace

const char* find_entry_points(const void* library, EntryPoints& entry_points) {
  entry_points.aligned_alloc = is_in(library, aligned_alloc);
  entry_points.memalign = is_in(library, memalign);
  entry_points.posix_memalign = is_in(library, posix_memalign);
  entry_points.valloc = is_in(library, valloc);
  entry_points.pvalloc = is_in(library, pvalloc);
  entry_points.malloc_usable_size = is_in(library, malloc_usable_size);
  if (!is_in(library, free)) return "free";
  if (!is_in(library, realloc)) return "realloc";
  return is_in(library, calloc) ? nullptr : "calloc";
}

void* allocate_otherwise(const EntryPoints& entry_points, const ReplayOp& op) {
  const size_t alignment = size_t{1} << op.log2;
  switch (op.kind) {
    case ReplayKind::kCalloc:
      return calloc(1, op.size);
    case ReplayKind::kMemalign:
      if (entry_points.memalign) return memalign(alignment, op.size);
      break;
    case ReplayKind::kAlignedAlloc:
      if (entry_points.aligned_alloc) return aligned_alloc(alignment, op.size);
      break;
    case ReplayKind::kValloc:
      if (entry_points.valloc) return valloc(op.size);
      return allocate_aligned(entry_points, kPageBytes, op.size);
    case ReplayKind::kPvalloc:
      return allocate_pages(entry_points, op.size);
    case ReplayKind::kPosixMemalign:
      break;
    default:
      return nullptr;
  }
  return allocate_aligned(entry_points, alignment, op.size);
}

}  // namespace heaptape::allocators
