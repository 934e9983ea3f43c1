// The settings of mallopt(3) (M_MMAP_THRESHOLD and the like) and the model's counts, one of each
// per process.
#pragma once

#include <cstdint>

namespace heaptape::allocators::ptmalloc {

struct Tuning {
  static constexpr uint64_t kDynamicMaxBytes = 33'554'432;  // DEFAULT_MMAP_THRESHOLD_MAX

  uint64_t mmap_threshold = 131072;
  uint64_t trim_threshold = 131072;
  uint64_t top_pad = 131072;
  uint64_t mmap_max = 65536;    // live mappings
  uint32_t fast_max_units = 8;  // of chunks that fastbins take: M_MXFAST
  bool dynamic = true;          // until the user sets one of the above

  // A mapped chunk was freed: blocks of its size come and go, so the heap should serve the next
  // one. glibc compares the size in the header, including the bit for "mapped".
  void note_unmapped(uint64_t chunk_bytes) {
    if (!dynamic || (chunk_bytes | 2) <= mmap_threshold || (chunk_bytes | 2) > kDynamicMaxBytes) {
      return;
    }
    mmap_threshold = chunk_bytes;
    trim_threshold = 2 * chunk_bytes;
  }
};

// docs/models/ptmalloc.md explains each.
struct Counts {
  uint64_t tcache_hits = 0;
  uint64_t fastbin_hits = 0;
  uint64_t smallbin_hits = 0;
  uint64_t largebin_hits = 0;
  uint64_t next_bin_hits = 0;
  uint64_t unsorted_processed = 0;
  uint64_t largebin_steps = 0;
  uint64_t consolidations = 0;
  uint64_t chunks_consolidated = 0;
  uint64_t brk_up = 0;
  uint64_t brk_down = 0;
  uint64_t mmap_calls = 0;
  uint64_t munmap_calls = 0;
  uint64_t mremap_calls = 0;
  uint64_t realloc_in_place_top = 0;
  uint64_t realloc_in_place_next = 0;
  uint64_t realloc_in_place_shrink = 0;
  uint64_t bytes_copied = 0;
  uint64_t bytes_zeroed = 0;

  uint64_t work() const { return unsorted_processed + largebin_steps + chunks_consolidated; }
};

}  // namespace heaptape::allocators::ptmalloc
