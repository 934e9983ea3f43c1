// Chunks from the system and back: the lowest layer of model:runs. Follows mozjemalloc (Firefox ESR
// 52), which keeps released chunks, purged but mapped, until it has kept 128 MiB.
#pragma once

#include <cstdint>

#include "allocators/models/free_extents.h"
#include "allocators/models/model.h"
#include "allocators/models/runs/run_geometry.h"

namespace heaptape::allocators::runs {

class ChunkSpace {
 public:
  // Chunks are kept while fewer bytes than this are kept already: the last may go beyond it.
  static constexpr uint64_t kRecycleLimitBytes = uint64_t{128} << 20;

  // The end of the first chunk.
  static constexpr uint64_t kTop = kWrapperBase;

  explicit ChunkSpace(AddressSpace& space);

  // `bytes` and `alignment` are multiples of a chunk, the alignment a power of two. Kept chunks
  // come first, best fit; then new ones at the highest address, as Linux places mappings where
  // nothing else is mapped. The contents are absent. 0 if there is no room. `rule` is for new ones.
  uint64_t map(uint64_t bytes, uint64_t alignment, const CommitRule& rule);
  // Any chunks in use, whichever calls mapped them.
  void unmap(AddressRange chunks);

  // Ascending; committed and absent.
  const FreeExtents& recycled() const { return recycled_; }
  uint64_t mapped_chunks_total() const { return mapped_chunks_total_; }  // ever, except recycled

 private:
  AddressSpace& space_;
  FreeExtents unmapped_;
  FreeExtents recycled_;
  uint64_t mapped_chunks_total_ = 0;
};

}  // namespace heaptape::allocators::runs
