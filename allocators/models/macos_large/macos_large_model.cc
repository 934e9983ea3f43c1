#include "allocators/models/macos_large/macos_large_model.h"

#include <algorithm>

#include "base/address/address_range.h"

namespace heaptape::allocators {
namespace {

using macos_large::CachedBlock;

// Alignments up to this are handled like none: a quantum of the small blocks.
constexpr uint64_t kSmallQuantum = 512;

// CommitRule::words.
constexpr char kNotCached[] = "no cached block (of %) can serve % bytes: a new mapping";
constexpr char kNeverCached[] = "blocks of % bytes or more are not cached: each is a new mapping";
constexpr char kGrowsInPlace[] =
    "the addresses after the block are free: its mapping grows in place by % bytes";

}  // namespace

MacosLargeModel::MacosLargeModel(AddressSpace& space, const base::Values& options)
    : space_(space),
      variant_(options.get<Variant>("variant")),
      touched_percent_(options["touched"]),
      entry_limit_bytes_(kCacheLimitBytes / options["entries"]),
      reserve_limit_bytes_(options["ram"] >> 10),
      base_(make_base_model(options, space)),
      row_(options["entries"]) {
  unmapped_.insert({kWrapperBase, kSpaceEnd});
}

std::vector<base::Parameter> MacosLargeModel::parameters() {
  return {{"ram", uint64_t{16} << 30,
           "bytes of memory of the machine; a 1024th of it may stay dirty in the cache"},
          base::choice("variant", Variant::k116, "which part of a cached block calloc zeroes",
                       {"116", "dirty_only", "no_cache"}),
          {"touched",
           100,
           "percent of each block that the program writes: what dirty_only zeroes",
           {},
           0,
           100},
          {"entries", 16, "blocks in the cache; none has 2 GiB / entries or more", {}, 1, 4096},
          base_model_parameter("the model that serves blocks of 127 KiB or less")};
}

Placement MacosLargeModel::allocate(uint64_t bytes, uint64_t alignment) {
  if (bytes > kMostRequestBytes || alignment > kMostRequestBytes) return {};
  if (bytes > kLargestSmallBytes) return allocate_large(bytes, alignment, Contents::kAny);
  if (alignment > kSmallQuantum && bytes + alignment - 1 > kLargestSmallBytes) {
    return allocate_large(kLargestSmallBytes + 1, alignment, Contents::kAny);
  }
  return base_->allocate(bytes, alignment);
}

Placement MacosLargeModel::allocate_zeroed(uint64_t bytes) {
  if (bytes > kMostRequestBytes) return {};
  return bytes > kLargestSmallBytes ? allocate_large(bytes, 0, Contents::kZeroed)
                                    : base_->allocate_zeroed(bytes);
}

Placement MacosLargeModel::allocate_large(uint64_t bytes, uint64_t alignment, Contents contents) {
  const uint64_t size = page_up(bytes);
  alignment = std::max(alignment, kPageBytes);
  uint64_t address = 0;
  if (is_cacheable(size)) {
    address = take_cached(size, alignment, contents);
    ++(address == 0 ? counts_.misses : counts_.hits);
  }
  if (address == 0) {
    address = map(size, alignment);
    if (address == 0) return {};
    sizes_.insert(address, size);
  }
  return {address, sizes_.get(address)};
}

// The block keeps all its pages, however few were asked for.
uint64_t MacosLargeModel::take_cached(uint64_t bytes, uint64_t alignment, Contents contents) {
  const auto block = row_.take(bytes, alignment);
  if (!block) return 0;
  forget_cached(*block);
  counts_.madvise_reuse += block->reusable;
  if (contents == Contents::kZeroed) counts_.bytes_zeroed += bytes_to_zero(*block, bytes);
  sizes_.insert(block->range.begin, block->range.bytes());
  return block->range.begin;
}

// For the first `bytes` of a block. Pages that were given up count as zero, as do pages that the
// program did not write to.
uint64_t MacosLargeModel::bytes_to_zero(const CachedBlock& block, uint64_t bytes) const {
  if (variant_ == Variant::k116) return bytes;
  return block.reusable ? 0 : page_up(bytes / 100 * touched_percent_);
}

void MacosLargeModel::forget_cached(const CachedBlock& block) {
  cache_bytes_ -= block.range.bytes();
  if (!block.reusable) reserve_bytes_ -= block.range.bytes();
}

uint64_t MacosLargeModel::map(uint64_t bytes, uint64_t alignment) {
  const uint64_t address = unmapped_.take_lowest(bytes, alignment);
  if (address == 0) return 0;
  ++counts_.vm_map;
  space_.commit({address, address + bytes}, rule_of_mapping(bytes));
  return address;
}

CommitRule MacosLargeModel::rule_of_mapping(uint64_t bytes) const {
  if (variant_ == Variant::kNoCache) return kNoRule;
  if (!is_cacheable(bytes)) return {kNeverCached, {entry_limit_bytes_}};
  return {kNotCached, {row_.blocks().size(), bytes}};
}

void MacosLargeModel::unmap(AddressRange range) {
  ++counts_.vm_dealloc;
  space_.decommit(range);
  unmapped_.insert(range);
}

void MacosLargeModel::release(uint64_t address) {
  if (is_large(address)) {
    release_large(address);
  } else {
    base_->release(address);
  }
}

// Whether to give up the pages is decided before the oldest block leaves the ring.
void MacosLargeModel::release_large(uint64_t address) {
  const AddressRange range{address, address + sizes_.get(address)};
  sizes_.erase(address);
  if (!is_cacheable(range.bytes())) {
    unmap(range);
    return;
  }
  ++counts_.madvise_can_reuse;
  row_.scan_for_double_free();
  const CachedBlock block{range, reserve_bytes_ + range.bytes() > reserve_limit_bytes_};
  counts_.madvise_reusable += block.reusable;
  const auto oldest = row_.push(block);
  cache_bytes_ += range.bytes();
  if (!block.reusable) reserve_bytes_ += range.bytes();
  if (!oldest) return;
  forget_cached(*oldest);
  ++counts_.evictions;
  unmap(oldest->range);
}

// A block that moves is placed before its old place is freed.
Placement MacosLargeModel::reallocate(uint64_t address, uint64_t bytes) {
  if (bytes > kMostRequestBytes) return {};
  if (!is_large(address) && bytes <= kLargestSmallBytes) return base_->reallocate(address, bytes);
  if (is_large(address) && try_resize_in_place(address, bytes))
    return {address, sizes_.get(address)};
  const Placement moved = allocate(bytes, 0);
  if (moved.address != 0) release(address);
  return moved;
}

// A large block that loses half or more gives the rest back if it stays large; one that loses less
// keeps everything; one that grows does so if the pages after it are not mapped.
bool MacosLargeModel::try_resize_in_place(uint64_t address, uint64_t bytes) {
  uint64_t& had = sizes_[address];
  const bool large = bytes > kLargestSmallBytes;
  const uint64_t wanted = round_up(bytes, large ? kPageBytes : kSmallQuantum);
  if (wanted > had / 2 && wanted <= had) return true;
  if (!large) return false;
  const AddressRange change{address + std::min(had, wanted), address + std::max(had, wanted)};
  if (wanted < had) {
    unmap(change);
  } else {
    if (!unmapped_.take(change)) return false;
    ++counts_.vm_map;
    space_.commit(change, {kGrowsInPlace, {change.bytes()}});
  }
  had = wanted;
  return true;
}

std::vector<AddressRange> MacosLargeModel::absent() const {
  std::vector<AddressRange> ranges = base_->absent();
  for (const CachedBlock& block : row_.blocks()) {
    if (block.reusable) ranges.push_back(block.range);
  }
  sort_and_join(ranges);
  return ranges;
}

std::vector<Counter> MacosLargeModel::counters() const {
  std::vector<Counter> list = {{"bytesZeroed", counts_.bytes_zeroed},
                               {"cacheHits", counts_.hits},
                               {"cacheMisses", counts_.misses},
                               {"cacheEvictions", counts_.evictions},
                               {"ringEntriesScanned", row_.entries_scanned()},
                               {"madviseCanReuse", counts_.madvise_can_reuse},
                               {"madviseReusable", counts_.madvise_reusable},
                               {"madviseReuse", counts_.madvise_reuse},
                               {"vmMap", counts_.vm_map},
                               {"vmDealloc", counts_.vm_dealloc},
                               {"cacheBytes", cache_bytes_},
                               {"reserveBytes", reserve_bytes_}};
  append_base_counters(list, *base_);
  return list;
}

}  // namespace heaptape::allocators
