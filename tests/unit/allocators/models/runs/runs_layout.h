// Where model:runs puts its first chunk, and the first run in it.
#pragma once

#include "allocators/models/runs/runs_model.h"

namespace heaptape::allocators::runs {

inline constexpr uint64_t kFirstChunk = ChunkSpace::kTop - kRunChunkBytes;
inline constexpr uint64_t kFirstRun = kFirstChunk + kChunkHeaderPages * kRunPageBytes;

}  // namespace heaptape::allocators::runs
