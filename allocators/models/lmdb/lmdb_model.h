// model:lmdb, the page allocator of LMDB 0.9.31 as a malloc: each block is a value on overflow
// pages of its own. docs/models/lmdb.md.
//
//   LmdbModel (blocks) -- LmdbPageAllocator (search, load, extend) -- FreeRecords -- PageSet
//
// A transaction ends where the tape frees NULL, or after txn_ops calls.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/lmdb/page_allocator.h"
#include "allocators/models/model.h"

namespace heaptape::allocators {

class LmdbModel {
 public:
  static constexpr uint64_t kHeaderBytes = 16;  // of the first page of a value

  // The pages of a value of `bytes` that begins `offset` bytes after a page boundary.
  static constexpr uint64_t pages_for(uint64_t bytes, uint64_t offset = kHeaderBytes) {
    return (offset - 1 + bytes) / kPageBytes + 1;
  }

  LmdbModel(AddressSpace& space, const base::Values& options);
  LmdbModel(const LmdbModel&) = delete;
  LmdbModel& operator=(const LmdbModel&) = delete;

  // As AllocatorModel says. 0 bytes count as 1. LMDB knows no alignment: a block that needs one
  // starts further into its pages.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  Placement allocate_zeroed(uint64_t bytes) { return allocate(bytes, 0); }
  // In place if the number of pages stays the same.
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address);
  void release_null();

  std::vector<AddressRange> absent() const { return {}; }
  std::vector<Counter> counters() const;
  std::vector<GrowthCurve> growth() const { return pages_.growth(); }
  uint64_t work() const { return pages_.counts().search_cmps; }
  static const char* work_unit() { return "comparisons"; }
  static BackendTraits traits() { return {.min_hole_bytes = kPageBytes}; }
  static std::vector<base::Parameter> parameters();

 private:
  Placement place(uint64_t bytes, uint64_t alignment);
  void give_back(uint64_t address);
  void count_call();

  AddressSpace& space_;
  const uint64_t skip_pages_;  // of f2; the others never skip
  lmdb::LmdbPageAllocator pages_;
  lmdb::BlockPages blocks_;
  const uint64_t txn_ops_;
  uint64_t calls_ = 0;  // of the transaction
};

static_assert(AllocatorModel<LmdbModel>);

}  // namespace heaptape::allocators
