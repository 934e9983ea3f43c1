#include "allocators/models/slabs/extents.h"

#include <algorithm>

namespace heaptape::allocators::slabs {
namespace {

constexpr uint64_t kFirstGrowthBytes = uint64_t{2} << 20;
constexpr uint64_t kRecordBytes = 128;
// A dirty extent more than 64 times as large as what is wanted is left alone
// (opt.lg_extent_max_active_fit): it would not grow together again soon.
constexpr int kDirtyExcessLog2 = 6;
constexpr int kAnyExcessLog2 = 63;

}  // namespace

Extents::Extents(Arena& arena, SystemMemory& system, MetadataBlocks& metadata, ExtentIndex& index,
                 ExtentCounts& counts, const ExtentOptions& options)
    : arena_(arena),
      system_(system),
      metadata_(metadata),
      index_(index),
      counts_(counts),
      oversize_bytes_(options.oversize_bytes),
      dirty_decay_(options.dirty_decay_ms),
      muzzy_decay_(options.muzzy_decay_ms),
      next_growth_(page_class_of(kFirstGrowthBytes)) {}

ExtentSet& Extents::set_of(ExtentState state) {
  return state == ExtentState::kDirty ? dirty_ : state == ExtentState::kMuzzy ? muzzy_ : retained_;
}

Extent* Extents::new_record() {
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

void Extents::drop_record(Extent& record) {
  record.newer = spare_records_;
  spare_records_ = &record;
}

Extent* Extents::allocate(uint64_t bytes, uint64_t alignment) {
  Extent* extent = recycle(ExtentState::kDirty, bytes, alignment);
  if (extent == nullptr && !muzzy_decay_.at_once()) {
    extent = recycle(ExtentState::kMuzzy, bytes, alignment);
  }
  if (extent == nullptr) extent = recycle(ExtentState::kRetained, bytes, alignment);
  if (extent == nullptr) extent = grow(bytes, alignment);
  return extent;
}

Extent* Extents::recycle(ExtentState state, uint64_t bytes, uint64_t alignment) {
  const int excess_log2 = state == ExtentState::kDirty ? kDirtyExcessLog2 : kAnyExcessLog2;
  Extent* extent = set_of(state).fit(bytes, alignment, excess_log2, counts_.examined);
  if (extent == nullptr) return nullptr;
  set_of(state).remove(*extent);
  extent->state = ExtentState::kActive;
  if (const uint64_t lead = round_up(extent->base, alignment) - extent->base; lead != 0) {
    Extent& front = *extent;
    extent = split(front, lead);
    deactivate(state, front);
  }
  if (extent->bytes > bytes) deactivate(state, *split(*extent, bytes));
  return extent;
}

Extent* Extents::grow(uint64_t bytes, uint64_t alignment) {
  const uint64_t least = bytes + alignment - kPageBytes;
  if (least < bytes || least > kLargestBytes) return nullptr;
  const uint32_t growth = std::max(next_growth_, page_class_of(least));
  const uint64_t base = system_.map(page_class_bytes(growth));
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
    record(ExtentState::kRetained, front);
  }
  if (extent->bytes > bytes) record(ExtentState::kRetained, *split(*extent, bytes));
  return extent;
}

// The extent keeps the first `bytes`; the rest is the result, in the same state.
Extent* Extents::split(Extent& extent, uint64_t bytes) {
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

void Extents::deactivate(ExtentState state, Extent& extent) {
  extent.state = state;
  set_of(state).insert(extent);
}

void Extents::release(Extent& extent) {
  record(ExtentState::kDirty, extent);
  if (dirty_decay_.at_once()) purge(ExtentState::kDirty, 0, true);
}

// Small dirty extents are joined only when their purge is due: they are likely to be wanted again
// as they are.
void Extents::record(ExtentState state, Extent& extent) {
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

void Extents::retain(Extent& extent) {
  counts_.purged_pages += extent.bytes >> kPageLog2;
  record(ExtentState::kRetained, extent);
}

Extent* Extents::free_neighbour(const Extent& extent, ExtentState state, bool behind) {
  if (!behind && extent.is_head) return nullptr;
  Extent* const other = index_.at(behind ? extent.end() : extent.base - kPageBytes);
  if (other == nullptr || other->state != state || (behind && other->is_head)) return nullptr;
  return other;
}

// With the free extent of this state behind, else in front; null if there is neither.
Extent* Extents::coalesce_once(ExtentState state, Extent& extent) {
  if (Extent* const next = free_neighbour(extent, state, true)) {
    set_of(state).remove(*next);
    return &join(extent, *next);
  }
  if (Extent* const previous = free_neighbour(extent, state, false)) {
    set_of(state).remove(*previous);
    return &join(*previous, extent);
  }
  return nullptr;
}

Extent& Extents::coalesce(ExtentState state, Extent& extent) {
  Extent* joined = &extent;
  while (Extent* const more = coalesce_once(state, *joined)) joined = more;
  return *joined;
}

Extent& Extents::join(Extent& lower, Extent& upper) {
  lower.bytes += upper.bytes;
  lower.serial = std::min(lower.serial, upper.serial);
  lower.state = ExtentState::kActive;
  drop_record(upper);
  index_.enter_ends(lower);
  ++counts_.coalesced;
  return lower;
}

bool Extents::expand(Extent& extent, uint64_t bytes) {
  for (const ExtentState state :
       {ExtentState::kDirty, ExtentState::kMuzzy, ExtentState::kRetained}) {
    Extent* const next = free_neighbour(extent, state, true);
    if (next == nullptr || next->bytes < bytes) continue;
    set_of(state).remove(*next);
    next->state = ExtentState::kActive;
    if (next->bytes > bytes) deactivate(state, *split(*next, bytes));
    join(extent, *next);
    return true;
  }
  return false;
}

void Extents::shrink_to(Extent& extent, uint64_t bytes) {
  release(*split(extent, bytes));
}

void Extents::decay(uint64_t now_ns) {
  decay(ExtentState::kDirty, dirty_decay_, now_ns);
  if (muzzy_.pages() > 0) decay(ExtentState::kMuzzy, muzzy_decay_, now_ns);
}

void Extents::decay(ExtentState state, SmoothDecay& decay, uint64_t now_ns) {
  if (decay.never()) return;
  if (decay.at_once()) {
    purge(state, 0, false);
  } else if (decay.advance(now_ns, set_of(state).pages())) {
    purge(state, decay.limit_pages(), false);
  }
}

// The oldest first, until no more than `limit_pages` are free in this state. Whole extents: it may
// become fewer.
void Extents::purge(ExtentState state, uint64_t limit_pages, bool fully) {
  const uint64_t pages = set_of(state).pages();
  uint64_t purged = 0;
  while (purged + limit_pages < pages) {
    Extent* const extent = evict(state, limit_pages);
    if (extent == nullptr) break;
    purged += extent->bytes >> kPageLog2;
    if (state == ExtentState::kDirty && !fully && !muzzy_decay_.at_once()) {
      record(ExtentState::kMuzzy, *extent);
    } else {
      retain(*extent);
    }
  }
}

// A dirty extent that can still be joined is, goes to the end of the queue, and another is looked
// for.
Extent* Extents::evict(ExtentState state, uint64_t limit_pages) {
  ExtentSet& set = set_of(state);
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

void Extents::append_absent(std::vector<AddressRange>& ranges) const {
  for (const Extent* extent = retained_.oldest(); extent != nullptr; extent = extent->newer) {
    ranges.push_back({extent->base, extent->end()});
  }
}

}  // namespace heaptape::allocators::slabs
