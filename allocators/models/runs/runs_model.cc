#include "allocators/models/runs/runs_model.h"

#include <algorithm>

#include "base/address/address_range.h"
#include "base/check.h"

namespace heaptape::allocators {
namespace {

using runs::bin_of;
using runs::kLargeMaxBytes;
using runs::kRunChunkBytes;
using runs::kRunGeometries;
using runs::kRunPageBytes;
using runs::kRunPageLog2;
using runs::kSmallMaxBytes;
using runs::page_in_chunk;
using runs::PageRuns;
using runs::pages_for;
using runs::PageUse;
using runs::RunChunk;
using runs::RunPage;

// A run starts after its chunk's header, so only a huge block is at the start of a chunk.
constexpr bool is_huge(uint64_t address) {
  return address % kRunChunkBytes == 0;
}

}  // namespace

Placement RunsModel::allocate(uint64_t bytes, uint64_t alignment) {
  bytes = std::max<uint64_t>(bytes, 1);
  return alignment == 0 ? allocate_plain(bytes) : allocate_aligned(bytes, alignment);
}

Placement RunsModel::allocate_plain(uint64_t bytes) {
  if (bytes <= kSmallMaxBytes) [[likely]] {
    const uint32_t bin = bin_of(bytes);
    const uint64_t address = small_.allocate(bin);
    return address == 0 ? Placement{} : Placement{address, kRunGeometries[bin].region_bytes};
  }
  if (bytes > kLargeMaxBytes) return huge_.allocate(bytes);
  const auto pages = static_cast<uint32_t>(pages_for(bytes));
  const uint64_t address = pages_.allocate(pages, PageUse::kLargeRun);
  return address == 0 ? Placement{} : Placement{address, pages * kRunPageBytes};
}

// Up to a page, rounding the size up to the alignment is enough: every region lies at a multiple of
// the largest power of two in its size. Beyond that, a run that is large enough wherever it starts
// is trimmed; if no chunk holds such a run, the block gets chunks of its own, however small it is.
Placement RunsModel::allocate_aligned(uint64_t bytes, uint64_t alignment) {
  alignment = std::max<uint64_t>(alignment, sizeof(void*));
  const uint64_t rounded = round_up(bytes, alignment);
  if (rounded < bytes) return {};
  if (rounded <= kRunPageBytes || (alignment <= kRunPageBytes && rounded <= kLargeMaxBytes)) {
    return allocate_plain(rounded);
  }
  if (bytes > kLargeMaxBytes || alignment > kLargeMaxBytes) return huge_.allocate(bytes, alignment);
  const uint64_t block = round_up(bytes, kRunPageBytes);
  const uint64_t within = std::max(block, alignment) + alignment - kRunPageBytes;
  if (within > kLargeMaxBytes) return huge_.allocate(block, alignment);
  const uint64_t address =
      pages_.allocate_aligned(static_cast<uint32_t>(block >> kRunPageLog2), alignment,
                              static_cast<uint32_t>(within >> kRunPageLog2));
  return address == 0 ? Placement{} : Placement{address, block};
}

// A block that moves is placed before its old place is freed.
Placement RunsModel::reallocate(uint64_t address, uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, 1);
  const uint64_t old_usable = usable_bytes(address);
  if (try_resize_in_place(address, old_usable, bytes)) return {address, usable_bytes(address)};
  const Placement moved = allocate_plain(bytes);
  if (moved.address == 0) return {};
  bytes_copied_ += std::min(bytes, old_usable);
  release(address);
  return moved;
}

void RunsModel::release(uint64_t address) {
  if (is_huge(address)) {
    huge_.release(address);
    return;
  }
  RunChunk& chunk = map_.chunk(address);
  const RunPage& page = chunk.pages[page_in_chunk(address)];
  if (page.use == PageUse::kSmallRun) [[likely]] {
    small_.release(chunk.runs[page.first], address);
    return;
  }
  HEAPTAPE_CHECK(page.use == PageUse::kLargeRun);
  pages_.release(address);
}

uint64_t RunsModel::usable_bytes(uint64_t address) {
  if (is_huge(address)) return huge_.usable_bytes(address);
  const RunChunk& chunk = map_.chunk(address);
  const RunPage& page = chunk.pages[page_in_chunk(address)];
  if (page.use == PageUse::kSmallRun)
    return kRunGeometries[chunk.runs[page.first].bin].region_bytes;
  HEAPTAPE_CHECK(page.use == PageUse::kLargeRun);
  return page.count * kRunPageBytes;
}

bool RunsModel::try_resize_in_place(uint64_t address, uint64_t old_usable, uint64_t bytes) {
  if (is_huge(address)) return try_resize_huge(address, old_usable, bytes);
  if (bytes <= kSmallMaxBytes) return kRunGeometries[bin_of(bytes)].region_bytes == old_usable;
  return bytes <= kLargeMaxBytes && old_usable > kSmallMaxBytes &&
         try_resize_large(address, old_usable, bytes);
}

// A block of a large size is huge only because of its alignment. The original then resizes it as a
// run, and reads a chunk header that is not there; here it stays if its page count does.
bool RunsModel::try_resize_huge(uint64_t address, uint64_t old_usable, uint64_t bytes) {
  if (old_usable <= kLargeMaxBytes) {
    return bytes > kSmallMaxBytes && pages_for(bytes) * kRunPageBytes == old_usable;
  }
  if (bytes <= kLargeMaxBytes || !huge_.try_resize_in_place(address, bytes)) return false;
  ++huge_in_place_;
  return true;
}

bool RunsModel::try_resize_large(uint64_t address, uint64_t old_usable, uint64_t bytes) {
  const auto pages = static_cast<uint32_t>(pages_for(bytes));
  const auto old_pages = static_cast<uint32_t>(old_usable >> kRunPageLog2);
  if (pages > old_pages) return pages_.try_grow(address, pages - old_pages);
  if (pages < old_pages) pages_.shrink(address, old_pages - pages);
  return true;
}

std::vector<AddressRange> RunsModel::absent() const {
  std::vector<AddressRange> ranges;
  pages_.append_absent(ranges);
  huge_.append_absent(ranges);
  for (const auto& [begin, end] : chunks_.recycled().by_address()) ranges.push_back({begin, end});
  sort_and_join(ranges);
  return ranges;
}

std::vector<Counter> RunsModel::counters() const {
  const PageRuns::PurgeCounts& purges = pages_.purges();
  return {{"runsCreated", small_.runs_created()},
          {"runsReused", small_.runs_reused()},
          {"purgeSweeps", purges.sweeps},
          {"madviseCalls", purges.madvise_calls},
          {"pagesPurged", purges.pages},
          {"chunksMapped", chunks_.mapped_chunks_total()},
          {"recycledBytes", chunks_.recycled().total_bytes()},
          {"hugeInPlace", huge_in_place_},
          {"bytesCopied", bytes_copied_},
          {"mappedBytes", pages_.mapped_bytes() + huge_.mapped_bytes()},
          {"dirtyPages", pages_.dirty_pages()}};
}

}  // namespace heaptape::allocators
