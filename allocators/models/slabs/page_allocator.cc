#include "allocators/models/slabs/page_allocator.h"

#include <algorithm>

namespace heaptape::allocators::slabs {
namespace {

constexpr uint64_t kFirstGrowthBytes = uint64_t{2} << 20;
constexpr uint64_t kRecordBytes = 128;
// A dirty extent more than 64 times as large as needed is left alone
// (opt.lg_extent_max_active_fit): it would not be rejoined soon.
constexpr int kDirtyExcessLog2 = 6;
constexpr int kAnyExcessLog2 = 63;

// CommitRule::words.
constexpr char kNoSlab[] =
    "no slab of blocks of % bytes has room and no free extent serves as one: the arena's next "
    "mapping has % bytes";
constexpr char kNoExtent[] =
    "no dirty, muzzy or retained extent serves for % bytes: the arena's next mapping has % bytes";
constexpr char kNoExtentAndMore[] =
    "no dirty, muzzy or retained extent serves for % bytes, nor would the arena's next mapping (% "
    "bytes): one of the request's class is made";

}  // namespace

PageAllocator::PageAllocator(Arena& arena, SystemMemory& system, MetadataBlocks& metadata,
                             ExtentIndex& index, Counts& counts, const Options& options)
    : arena_(arena),
      system_(system),
      metadata_(metadata),
      index_(index),
      counts_(counts),
      oversize_bytes_(options.oversize_bytes),
      dirty_decay_(options.dirty_decay_ms),
      muzzy_decay_(options.muzzy_decay_ms),
      next_growth_(page_class_of(kFirstGrowthBytes)) {}

Extent* PageAllocator::new_record() {
  Extent* record = spare_records_;
  if (record != nullptr) {
    spare_records_ = record->newer;
    return record;
  }
  metadata_.allocate(kRecordBytes, kRecordBytes);
  record = &records_.emplace_back();
  record->arena = &arena_;
  return record;
}

void PageAllocator::drop_record(Extent& record) {
  record.newer = spare_records_;
  spare_records_ = &record;
}

Extent* PageAllocator::allocate(uint64_t bytes, uint64_t alignment, uint64_t region_bytes) {
  Extent* extent = recycle(ExtentState::kDirty, bytes, alignment);
  if (extent == nullptr && !muzzy_decay_.at_once()) {
    extent = recycle(ExtentState::kMuzzy, bytes, alignment);
  }
  if (extent == nullptr) extent = recycle(ExtentState::kRetained, bytes, alignment);
  if (extent == nullptr) extent = grow(bytes, alignment, region_bytes);
  return extent;
}

Extent* PageAllocator::recycle(ExtentState state, uint64_t bytes, uint64_t alignment) {
  const int excess_log2 = state == ExtentState::kDirty ? kDirtyExcessLog2 : kAnyExcessLog2;
  Extent* extent = cache_of(state).fit(bytes, alignment, excess_log2, counts_.examined);
  if (extent == nullptr) return nullptr;
  cache_of(state).remove(*extent);
  extent->state = ExtentState::kActive;
  if (const uint64_t lead = round_up(extent->base, alignment) - extent->base; lead != 0) {
    Extent& front = *extent;
    extent = split(front, lead);
    deactivate(state, front);
  }
  if (extent->bytes > bytes) deactivate(state, *split(*extent, bytes));
  return extent;
}

Extent* PageAllocator::grow(uint64_t bytes, uint64_t alignment, uint64_t region_bytes) {
  const uint64_t least = bytes + alignment - kPageBytes;
  if (least < bytes || least > kLargestBytes) return nullptr;
  const uint32_t growth = std::max(next_growth_, page_class_of(least));
  const char* words = region_bytes != 0        ? kNoSlab
                      : growth == next_growth_ ? kNoExtent
                                               : kNoExtentAndMore;
  const uint64_t wanted = region_bytes != 0 ? region_bytes : bytes;
  const uint64_t base =
      system_.map(page_class_bytes(growth), {words, {wanted, page_class_bytes(next_growth_)}});
  if (base == 0) return nullptr;
  next_growth_ = growth + 1;
  Extent* extent = new_record();
  extent->base = base;
  extent->bytes = page_class_bytes(growth);
  extent->serial = next_serial_++;
  extent->state = ExtentState::kActive;
  extent->is_head = true;
  index_.enter_ends(*extent);
  if (const uint64_t lead = round_up(base, alignment) - base; lead != 0) {
    Extent& front = *extent;
    extent = split(front, lead);
    insert_free(ExtentState::kRetained, front);
  }
  if (extent->bytes > bytes) insert_free(ExtentState::kRetained, *split(*extent, bytes));
  return extent;
}

// The extent keeps the first `bytes`; returns the rest, in the same state.
Extent* PageAllocator::split(Extent& extent, uint64_t bytes) {
  Extent* const rest = new_record();
  rest->base = extent.base + bytes;
  rest->bytes = extent.bytes - bytes;
  rest->serial = extent.serial;
  rest->state = extent.state;
  rest->is_head = false;
  extent.bytes = bytes;
  index_.enter_ends(extent);
  index_.enter_ends(*rest);
  ++counts_.split;
  return rest;
}

void PageAllocator::deactivate(ExtentState state, Extent& extent) {
  extent.state = state;
  cache_of(state).insert(extent);
}

void PageAllocator::release(Extent& extent) {
  insert_free(ExtentState::kDirty, extent);
  if (dirty_decay_.at_once()) purge(ExtentState::kDirty, 0, PurgeTo::kRetained);
}

// Small dirty extents are joined only when their purge is due: they are likely to be needed again
// unchanged.
void PageAllocator::insert_free(ExtentState state, Extent& extent) {
  if (state == ExtentState::kDirty && extent.bytes < kLargeMinBytes) {
    deactivate(state, extent);
    return;
  }
  Extent& joined = coalesce(state, extent);
  const bool may_purge = !dirty_decay_.never() && !muzzy_decay_.never();
  if (state == ExtentState::kDirty && joined.bytes >= oversize_bytes_ && may_purge) {
    retain(joined);
  } else {
    deactivate(state, joined);
  }
}

void PageAllocator::retain(Extent& extent) {
  counts_.purged_pages += extent.bytes >> kPageLog2;
  system_.purge(extent.base, extent.bytes);
  insert_free(ExtentState::kRetained, extent);
}

// The neighbors in the same mapping, if they are free in this state; else null.
Extent* PageAllocator::free_before(const Extent& extent, ExtentState state) {
  if (extent.is_head) return nullptr;
  Extent* const other = index_.at(extent.base - kPageBytes);
  return other != nullptr && other->state == state ? other : nullptr;
}

Extent* PageAllocator::free_behind(const Extent& extent, ExtentState state) {
  Extent* const other = index_.at(extent.end());
  return other != nullptr && other->state == state && !other->is_head ? other : nullptr;
}

// Joins with the free extent of this state after it, else before it; null if there is neither.
Extent* PageAllocator::coalesce_once(ExtentState state, Extent& extent) {
  if (Extent* const next = free_behind(extent, state)) {
    cache_of(state).remove(*next);
    return &join(extent, *next);
  }
  if (Extent* const previous = free_before(extent, state)) {
    cache_of(state).remove(*previous);
    return &join(*previous, extent);
  }
  return nullptr;
}

Extent& PageAllocator::coalesce(ExtentState state, Extent& extent) {
  Extent* joined = &extent;
  while (Extent* const more = coalesce_once(state, *joined)) joined = more;
  return *joined;
}

Extent& PageAllocator::join(Extent& lower, Extent& upper) {
  lower.bytes += upper.bytes;
  lower.serial = std::min(lower.serial, upper.serial);
  lower.state = ExtentState::kActive;
  drop_record(upper);
  index_.enter_ends(lower);
  ++counts_.coalesced;
  return lower;
}

bool PageAllocator::try_expand(Extent& extent, uint64_t bytes) {
  for (const ExtentState state :
       {ExtentState::kDirty, ExtentState::kMuzzy, ExtentState::kRetained}) {
    Extent* const next = free_behind(extent, state);
    if (next == nullptr || next->bytes < bytes) continue;
    cache_of(state).remove(*next);
    next->state = ExtentState::kActive;
    if (next->bytes > bytes) deactivate(state, *split(*next, bytes));
    join(extent, *next);
    return true;
  }
  return false;
}

void PageAllocator::shrink_to(Extent& extent, uint64_t bytes) {
  release(*split(extent, bytes));
}

void PageAllocator::decay(uint64_t now_ns) {
  decay(ExtentState::kDirty, dirty_decay_, now_ns);
  if (free_pages(ExtentState::kMuzzy) > 0) decay(ExtentState::kMuzzy, muzzy_decay_, now_ns);
}

void PageAllocator::set_dirty_decay(uint64_t milliseconds, uint64_t now_ns) {
  dirty_decay_ = SmoothDecay(milliseconds);
  decay(now_ns);
}

void PageAllocator::set_muzzy_decay(uint64_t milliseconds, uint64_t now_ns) {
  muzzy_decay_ = SmoothDecay(milliseconds);
  decay(now_ns);
}

void PageAllocator::purge_all() {
  purge(ExtentState::kDirty, 0, PurgeTo::kRetained);
  purge(ExtentState::kMuzzy, 0, PurgeTo::kRetained);
}

void PageAllocator::decay(ExtentState state, SmoothDecay& decay, uint64_t now_ns) {
  if (decay.never()) return;
  if (decay.at_once()) {
    purge(state, 0, PurgeTo::kNextState);
  } else if (decay.advance(now_ns, free_pages(state))) {
    purge(state, decay.limit_pages(), PurgeTo::kNextState);
  }
}

// The oldest first, until at most `limit_pages` are free in this state. Purges whole extents, so
// fewer may remain.
void PageAllocator::purge(ExtentState state, uint64_t limit_pages, PurgeTo to) {
  const uint64_t pages = free_pages(state);
  uint64_t purged = 0;
  while (purged + limit_pages < pages) {
    Extent* const extent = evict(state, limit_pages);
    if (extent == nullptr) break;
    purged += extent->bytes >> kPageLog2;
    if (state == ExtentState::kDirty && to == PurgeTo::kNextState && !muzzy_decay_.at_once()) {
      insert_free(ExtentState::kMuzzy, *extent);
    } else {
      retain(*extent);
    }
  }
}

// If a dirty extent can still be joined, it is, and goes to the end of the queue; then another is
// looked for.
Extent* PageAllocator::evict(ExtentState state, uint64_t limit_pages) {
  ExtentCache& set = cache_of(state);
  for (;;) {
    Extent* const extent = set.oldest();
    if (extent == nullptr || set.pages() <= limit_pages) return nullptr;
    set.remove(*extent);
    extent->state = ExtentState::kActive;
    Extent* const joined = state == ExtentState::kDirty ? coalesce_once(state, *extent) : nullptr;
    if (joined == nullptr) return extent;
    deactivate(state, *joined);
  }
}

}  // namespace heaptape::allocators::slabs
