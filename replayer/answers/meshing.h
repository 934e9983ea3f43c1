// How much memory would come back by merging physical pages whose live blocks lie at different
// offsets: "meshing" (Powers, Tench, Berger, McGregor, "Mesh: Compacting Memory Management for
// C/C++ Applications", PLDI 2019). Blocks keep their addresses, so it works for any program. An
// estimate: docs/metrics.md, "Meshing".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address/pages.h"
#include "replayer/heap_map/heap_picture.h"

namespace heaptape::replayer {

// The granules of a page that hold live bytes, a bit each; granules have at least 8 bytes.
using LiveGranules = std::array<uint64_t, base::kPageBytes / 8 / 64>;

struct PartlyLivePage {
  uint64_t address = 0;
  LiveGranules live = {};
};

// The resident pages that hold live and free bytes, ascending. Wholly free pages are omitted,
// because a purge gives them back. A block takes every granule that it touches, at least one. If
// residency is unknown, all committed pages count.
std::vector<PartlyLivePage> partly_live_pages(const HeapPicture& picture);

// The group of each page, numbered from 0: pages of one group have no live granule in common. No
// two groups could be merged, unless there are more pages than kSearchedInFull. Deterministic.
// Time: kMeshTests tests of two pages, or 64 for each page if that is more.
inline constexpr size_t kMeshTests = size_t{1} << 25;
inline constexpr size_t kSearchedInFull = 5792;  // the square root of kMeshTests
std::vector<uint32_t> mesh(std::span<const PartlyLivePage> pages);

struct MeshEstimate {
  uint64_t pages = 0;           // partly live
  uint64_t meshable_bytes = 0;  // that come back by merging as in mesh()
  uint64_t most_bytes = 0;      // upper bound for any way of merging
};

MeshEstimate estimate_meshing(const HeapPicture& picture);

}  // namespace heaptape::replayer
