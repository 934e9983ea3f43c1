// model:macos-large, the large blocks of macOS: libmalloc-116 (2016), whose cache of freed blocks
// makes calloc write zeroes where fresh pages would have been zero. docs/models/macos-large.md has
// the rules and the counters.
//
//   MacosLargeModel --+-- DeathRow
//                     +-- AddressSpace, from kWrapperBase on
//                     +-- AnyModel: blocks of 127 KiB and less
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocators/models/any_model/any_model.h"
#include "allocators/models/block_sizes.h"
#include "allocators/models/free_extents.h"
#include "allocators/models/macos_large/death_row.h"

namespace heaptape::allocators {

class MacosLargeModel {
 public:
  static constexpr uint64_t kLargestSmallBytes = 127 << 10;
  static constexpr uint64_t kCacheLimitBytes = uint64_t{2} << 30;

  MacosLargeModel(AddressSpace& space, const base::Values& options);

  // As AllocatorModel says.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  Placement allocate_zeroed(uint64_t bytes);
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address);
  void set_thread(uint32_t thread) { base_->set_thread(thread); }
  void end_thread(uint32_t thread) { base_->end_thread(thread); }
  void set_time(uint64_t time_ns) { base_->set_time(time_ns); }

  // Cached blocks whose pages were given up, and the base's absent pages.
  std::vector<AddressRange> absent() const;
  std::vector<Counter> counters() const;
  uint64_t work() const { return row_.entries_scanned(); }
  static const char* work_unit() { return "ring entries scanned"; }
  BackendTraits traits() const { return base_->traits(); }
  static std::vector<base::Parameter> parameters();

 private:
  enum class Variant : uint64_t { k116, kDirtyOnly, kNoCache };
  enum class Contents { kAny, kZeroed };
  struct Counts {
    uint64_t bytes_zeroed = 0;
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t evictions = 0;
    uint64_t madvise_can_reuse = 0;
    uint64_t madvise_reusable = 0;
    uint64_t madvise_reuse = 0;
    uint64_t vm_map = 0;
    uint64_t vm_dealloc = 0;
  };

  static bool is_large(uint64_t address) { return address >= kWrapperBase; }
  bool is_cacheable(uint64_t bytes) const {
    return variant_ != Variant::kNoCache && bytes < entry_limit_bytes_;
  }
  Placement allocate_large(uint64_t bytes, uint64_t alignment, Contents contents);
  uint64_t take_cached(uint64_t bytes, uint64_t alignment, Contents contents);
  uint64_t bytes_to_zero(const macos_large::CachedBlock& block, uint64_t bytes) const;
  void forget_cached(const macos_large::CachedBlock& block);
  uint64_t map(uint64_t bytes, uint64_t alignment);
  CommitRule rule_of_mapping(uint64_t bytes) const;
  void unmap(AddressRange range);
  void release_large(uint64_t address);
  bool try_resize_in_place(uint64_t address, uint64_t bytes);

  AddressSpace& space_;
  Variant variant_;
  uint64_t touched_percent_;
  uint64_t entry_limit_bytes_;
  uint64_t reserve_limit_bytes_;
  std::unique_ptr<AnyModel> base_;
  FreeExtents unmapped_;
  BlockSizes sizes_;  // of live large blocks
  macos_large::DeathRow row_;
  uint64_t cache_bytes_ = 0;
  uint64_t reserve_bytes_ = 0;  // of cached blocks that still have their pages
  Counts counts_;
};

static_assert(AllocatorModel<MacosLargeModel>);

}  // namespace heaptape::allocators
