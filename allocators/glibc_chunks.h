// Which free blocks glibc's malloc keeps ready: found by walking from chunk to chunk through the
// gaps between live blocks. A chunk there that counts as in use is in a thread's cache, or is the
// cache's own data (glibc 2.36, malloc/malloc.c: struct malloc_chunk).
//
// chunk + 0   size of the chunk before, if that is free
// chunk + 8   own size; bit 0: the chunk before is in use
// chunk + 16  the block of an allocated chunk, which extends to next chunk + 8
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "allocators/backend.h"

namespace heaptape::allocators {

template <typename R>
concept ChunkReader = requires(R reader, uint64_t chunk, uint64_t bytes) {
  // The word at chunk + 8; nothing if it cannot be read.
  { reader.size_word(chunk) } -> std::same_as<std::optional<uint64_t>>;
  // Whether a chunk that counts as in use is in a fastbin, which any larger request empties.
  { reader.is_fast(chunk, bytes) } -> std::same_as<bool>;
  // Where the heap of a thread's arena that begins at this address ends now. It keeps the memory
  // behind that when it shrinks. Nothing if there is no such heap.
  { reader.heap_end(chunk) } -> std::same_as<std::optional<uint64_t>>;
};

namespace glibc {
inline constexpr uint64_t kHeaderBytes = 16;
inline constexpr uint64_t kLeastBytes = 32;
inline constexpr uint64_t kMostFastBytes = 128;
// Where the first chunk of an arena's heap may be: after heap_info and malloc_state, or after
// heap_info alone.
inline constexpr uint64_t kFirstChunks[] = {0x8d0, 0x30};
}  // namespace glibc

// Walks from `chunk` to `end`: with `is_top`, the end of the heap, else the beginning of the chunk
// of a live block. Appends the kept chunks, as the stretches between blocks that they take up.
// Returns false and appends nothing if there is no such chain of chunks.
template <ChunkReader Reader>
bool walk_chunks(Reader& reader, uint64_t chunk, uint64_t end, bool is_top,
                 std::vector<AddressRange>& kept) {
  const size_t size_before = kept.size();
  auto word = reader.size_word(chunk);
  while (word) {
    const uint64_t bytes = *word & ~uint64_t{7};
    const uint64_t next = chunk + bytes;
    if (bytes < glibc::kLeastBytes || bytes % 16 != 0 || next > end || next < chunk) break;
    if (is_top && next == end) return true;  // the top chunk itself
    const auto next_word = reader.size_word(next);
    if (!next_word) break;
    if ((*next_word & 1) != 0 && !reader.is_fast(chunk, bytes)) {
      kept.push_back({chunk + glibc::kHeaderBytes, next + glibc::kHeaderBytes});
    }
    if (next == end) return true;
    chunk = next;
    word = next_word;
  }
  kept.resize(size_before);
  return false;
}

// Where the top chunk ends if the gap ends a heap that shrank.
template <ChunkReader Reader>
std::optional<uint64_t> shrunk_end(Reader& reader, AddressRange gap) {
  const uint64_t heap = base::round_down(gap.end - 1, kGlibcHeapBytes);
  if (heap > gap.begin) return std::nullopt;  // the main heap has no such limit
  const auto end = reader.heap_end(heap);
  return end && *end > gap.begin && *end < gap.end ? end : std::nullopt;
}

// `gaps` are as in Backend::kept_memory. Gaps that are not a chain of chunks (between mappings,
// say) are skipped.
template <ChunkReader Reader>
std::vector<AddressRange> kept_chunks(Reader& reader, std::span<const AddressRange> gaps,
                                      uint64_t initial_break) {
  std::vector<AddressRange> kept;
  for (const AddressRange& gap : gaps) {
    if (gap.bytes() < glibc::kLeastBytes) continue;
    const uint64_t end = gap.end - glibc::kHeaderBytes;
    const bool may_be_top = gap.end % base::kPageBytes == 0;
    const auto walk = [&](uint64_t chunk) {
      if (walk_chunks(reader, chunk, end, false, kept)) return true;
      if (!may_be_top) return false;
      if (walk_chunks(reader, chunk, gap.end, true, kept)) return true;
      const auto end_now = shrunk_end(reader, gap);
      return end_now && walk_chunks(reader, chunk, *end_now, true, kept);
    };
    if (gap.begin == initial_break) {
      walk(gap.begin);
    } else if (gap.begin % kGlibcHeapBytes == 0) {
      for (const uint64_t first : glibc::kFirstChunks) {
        if (first < gap.bytes() && walk(gap.begin + first)) break;
      }
    } else {
      walk(gap.begin - glibc::kHeaderBytes);
    }
  }
  return kept;
}

}  // namespace heaptape::allocators
