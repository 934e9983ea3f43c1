// The arenas of a process, and which thread uses which. Follows arena_choose_hard() (jemalloc.c)
// and arena_choose_huge() (arena.c) of jemalloc 5.3.0.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocators/models/slabs/arena.h"

namespace heaptape::allocators::slabs {

// The free pages of all arenas.
struct FreePages {
  uint64_t dirty = 0;
  uint64_t muzzy = 0;
  uint64_t retained = 0;
};

class ArenaPool {
 public:
  // `count` arenas for threads. `shared` outlives it.
  ArenaPool(SharedState& shared, uint64_t count, const PageAllocator::Options& options);

  Arena& first() { return at(0); }
  // The arena for a new thread: the first of those with the fewest threads. An existing arena
  // without threads is preferred to a new one.
  Arena& attach();
  // One of its threads has ended. Returns how many are left.
  uint32_t detach(const Arena& arena);
  // For requests of oversize_bytes and more. It purges at once, unless purging is off: it has too
  // few calls for timely decay.
  Arena& huge();

  // For arenas made from now on.
  PageAllocator::Options& options() { return options_; }
  // All that were made.
  const std::vector<std::unique_ptr<Arena>>& all() const { return arenas_; }
  // Null if it was not made.
  Arena* find(uint64_t index) { return index < by_index_.size() ? by_index_[index] : nullptr; }
  uint64_t made() const { return arenas_.size(); }
  FreePages free_pages() const;
  uint64_t metadata_bytes() const;
  // Not in order.
  void append_absent(std::vector<AddressRange>& ranges) const;

 private:
  Arena& at(uint64_t index);
  Arena& make(const PageAllocator::Options& options);

  SharedState& shared_;
  uint64_t count_;
  PageAllocator::Options options_;
  std::vector<Arena*> by_index_;    // null if not made yet
  std::vector<uint32_t> attached_;  // threads, by index
  Arena* huge_ = nullptr;
  std::vector<std::unique_ptr<MetadataBlocks>> metadata_;  // of arenas other than the first
  std::vector<std::unique_ptr<Arena>> arenas_;             // in the order they were made
};

}  // namespace heaptape::allocators::slabs
