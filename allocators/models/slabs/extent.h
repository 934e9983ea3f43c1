// A run of pages and its data. Follows edata.h of jemalloc 5.3.0.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "allocators/models/slabs/slab_classes.h"

namespace heaptape::allocators::slabs {

class Arena;
struct Extent;

// Active: a slab or a large block. The others are free: a dirty extent has its contents, the system
// may take those of a muzzy one, a retained one has none.
enum class ExtentState : uint8_t { kDirty, kMuzzy, kRetained, kActive };
inline constexpr size_t kFreeStates = 3;

// Oldest mapping first, then lowest address: jemalloc's preference wherever it has a choice.
struct ExtentRank {
  uint64_t serial = 0;
  uint64_t base = 0;

  auto operator<=>(const ExtentRank&) const = default;
};

struct HeapLinks {
  Extent* child = nullptr;
  Extent* next = nullptr;  // sibling
  Extent* prev = nullptr;  // sibling, or the parent of a first child
};

struct Extent {
  uint64_t base = 0;
  uint64_t bytes = 0;
  uint64_t serial = 0;  // of the mapping it came from; the lower of two that were joined
  Arena* arena = nullptr;
  HeapLinks heap;           // in a bin of free extents, or of slabs with room
  Extent* older = nullptr;  // in the order they were freed
  Extent* newer = nullptr;
  uint32_t size_class = 0;  // of an active extent
  ExtentState state = ExtentState::kActive;
  bool is_slab = false;
  bool is_head = false;  // at the start of a mapping: never joined to the extent before it

  // For a slab. Bit n % 64 of word n / 64: region n is free.
  uint32_t free_count = 0;
  uint64_t free_regions[kMaxRegions / 64] = {};

  uint64_t end() const { return base + bytes; }
  ExtentRank rank() const { return {serial, base}; }
  bool before(const Extent& other) const { return rank() < other.rank(); }
};

}  // namespace heaptape::allocators::slabs
