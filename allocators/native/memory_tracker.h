// Turns the memory calls of a worker into the memory its allocator holds.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/backend.h"
#include "allocators/native/worker/worker_protocol.h"
#include "base/address/region_set.h"

namespace heaptape::allocators {

// Committed memory of a real allocator: the writable anonymous mappings made since the worker's
// start, and the heap between the initial and the current program break. Thread stacks (MAP_STACK)
// and mapped files are not counted. A page counts once, however often it is remapped or made
// writable. A mapping that moves is committed whole if part of it was. One thread.
class MemoryTracker {
 public:
  explicit MemoryTracker(uint64_t initial_break) : break_(initial_break) {}

  // Appends the call's changes to `events`, with op number `op`.
  void apply(const MemoryCall& call, uint32_t op, std::vector<RegionEvent>& events);

  uint64_t committed_bytes() const { return committed_.bytes(); }

 private:
  void commit(AddressRange range);
  void decommit(AddressRange range);
  void on_mmap(const MemoryCall& call);
  void on_mremap(const MemoryCall& call);
  void on_mprotect(const MemoryCall& call);
  void on_brk(const MemoryCall& call);

  base::RegionSet anonymous_;  // mapped anonymous memory, whatever its protection
  base::RegionSet committed_;
  uint64_t break_;
  uint32_t op_ = 0;
  std::vector<RegionEvent>* events_ = nullptr;
};

}  // namespace heaptape::allocators
