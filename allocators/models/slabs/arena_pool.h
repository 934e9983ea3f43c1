// The arenas of a process and which thread uses which. Follows arena_choose_hard() (jemalloc.c) and
// arena_choose_huge() (arena.c) of jemalloc 5.3.0.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocators/models/slabs/arena.h"

namespace heaptape::allocators::slabs {

// Free pages of all arenas.
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
  // The arena of a new thread: the first of those that have the fewest threads. One that was made
  // and has none goes before one that is yet to be made.
  Arena& attach();
  // One of its threads has ended. How many it has now.
  uint32_t detach(const Arena& arena);
  // For requests of oversize_bytes and more. It purges at once, unless nothing is ever purged: it
  // has too few calls for decay to be on time.
  Arena& huge();

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
  std::vector<Arena*> by_index_;    // null: not made yet
  std::vector<uint32_t> attached_;  // threads, by index
  Arena* huge_ = nullptr;
  std::vector<std::unique_ptr<MetadataBlocks>> metadata_;  // of arenas other than the first
  std::vector<std::unique_ptr<Arena>> arenas_;             // as they were made
};

}  // namespace heaptape::allocators::slabs
