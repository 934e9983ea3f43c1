#include "allocators/models/runs/page_runs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace heaptape::allocators::runs {
namespace {

// CommitRule::words.
constexpr char kNoSmallRun[] =
    "no run of the size class has room, and neither % free pages in a row nor an empty chunk are "
    "kept: a new chunk of % bytes";
constexpr char kNoLargeRun[] =
    "neither % free pages in a row nor an empty chunk are kept: a new chunk of % bytes";

}  // namespace

uint64_t PageRuns::allocate(uint32_t pages, PageUse use) {
  const uint64_t address = claim(pages, use);
  // All of a small run counts as written to, though its regions are handed out one by one.
  if (address != 0) {
    const uint32_t first = page_in_chunk(address);
    map_.chunk(address).absent.clear(first, first + pages);
  }
  return address;
}

uint64_t PageRuns::allocate_aligned(uint32_t pages, uint64_t alignment, uint32_t within_pages) {
  const uint64_t within = claim(within_pages, PageUse::kLargeRun);
  if (within == 0) return 0;
  const uint64_t address = round_up(within, alignment);
  const Span run = span_at(within);
  // The original counts the parts cut off as clean, whether or not they were dirty before. So do
  // we, and only the block itself becomes present.
  trim(run, page_in_chunk(address), pages, Freed::kClean);
  run.chunk->absent.clear(page_in_chunk(address), page_in_chunk(address) + pages);
  return address;
}

void PageRuns::release(uint64_t address) {
  give_back(span_at(address), Freed::kDirty);
}

void PageRuns::shrink(uint64_t address, uint32_t pages) {
  const Span run = span_at(address);
  trim(run, run.first, run.count - pages, Freed::kDirty);
}

bool PageRuns::try_grow(uint64_t address, uint32_t pages) {
  const Span run = span_at(address);
  const uint32_t end = run.first + run.count;
  if (end == kChunkPages) return false;
  const RunPage& next = run.chunk->pages[end];
  if (next.use != PageUse::kFree || next.count < pages) return false;
  split(available_.find(key({run.chunk, end, next.count})), pages, PageUse::kLargeRun);
  run.chunk->absent.clear(end, end + pages);
  describe({run.chunk, run.first, run.count + pages}, PageUse::kLargeRun);
  return true;
}

void PageRuns::append_absent(std::vector<AddressRange>& ranges) const {
  for (const uint64_t address : chunks_) {
    const RunChunk& chunk = map_.chunk(address);
    uint32_t begin = chunk.absent.next(0, true);
    while (begin != kChunkPages) {
      const uint32_t end = chunk.absent.next(begin, false);
      ranges.push_back({chunk.page_address(begin), chunk.page_address(end)});
      begin = chunk.absent.next(end, true);
    }
  }
}

uint64_t PageRuns::key(const Span& span) {
  return uint64_t{span.count} << kCountShift | span.chunk->page_address(span.first) >> kRunPageLog2;
}

void PageRuns::describe(const Span& span, PageUse use) {
  const RunPage page{use, static_cast<uint8_t>(span.first), static_cast<uint8_t>(span.count)};
  RunPage* pages = span.chunk->pages + span.first;
  if (use == PageUse::kSmallRun) std::fill_n(pages, span.count, page);
  pages[0] = page;
  pages[span.count - 1] = page;
}

PageRuns::Span PageRuns::span_at(uint64_t address) {
  RunChunk& chunk = map_.chunk(address);
  const uint32_t page = page_in_chunk(address);
  HEAPTAPE_CHECK(address % kRunPageBytes == 0 && chunk.pages[page].first == page);
  return {&chunk, page, chunk.pages[page].count};
}

// Best fit, then the spare chunk, then a new one. Leaves `absent` alone.
uint64_t PageRuns::claim(uint32_t pages, PageUse use) {
  const auto best = available_.lower_bound(uint64_t{pages} << kCountShift);
  if (best != available_.end()) return split(best, pages, use);
  const char* words = use == PageUse::kSmallRun ? kNoSmallRun : kNoLargeRun;
  RunChunk* chunk = spare_ != nullptr ? spare_ : new_chunk({words, {pages, kRunChunkBytes}});
  if (chunk == nullptr) return 0;
  spare_ = nullptr;
  const Span whole{chunk, kChunkHeaderPages, kLargestRunPages};
  return split(available_.insert(key(whole)).first, pages, use);
}

RunChunk* PageRuns::new_chunk(const CommitRule& rule) {
  const uint64_t address = space_.map(kRunChunkBytes, kRunChunkBytes, rule);
  if (address == 0) return nullptr;
  RunChunk& chunk = map_.chunk(address);
  chunk.address = address;
  chunk.dirty = {};
  chunk.absent = {};
  chunk.absent.set(kChunkHeaderPages, kChunkPages);
  chunk.dirty_count = 0;
  chunk.listed_dirty = false;
  describe({&chunk, 0, kChunkHeaderPages}, PageUse::kHeader);
  describe({&chunk, kChunkHeaderPages, kLargestRunPages}, PageUse::kFree);
  chunks_.insert(address);
  return &chunk;
}

// The front of the free run is taken; the rest stays available. Returns its address.
uint64_t PageRuns::split(AvailableRuns::iterator free_run, uint32_t pages, PageUse use) {
  HEAPTAPE_CHECK(free_run != available_.end());
  const uint64_t address = (*free_run & ((uint64_t{1} << kCountShift) - 1)) << kRunPageLog2;
  const auto [chunk, first, count] = span_at(address);
  if (count > pages) {
    const Span rest{chunk, first + pages, count - pages};
    describe(rest, PageUse::kFree);
    auto node = available_.extract(free_run);
    node.value() = key(rest);
    available_.insert(std::move(node));
  } else {
    available_.erase(free_run);
  }
  describe({chunk, first, pages}, use);
  const uint32_t were_dirty = chunk->dirty.clear(first, first + pages);
  chunk->dirty_count -= were_dirty;
  dirty_pages_ -= were_dirty;
  return address;
}

// Keeps some pages of a large run and frees those before and after them.
void PageRuns::trim(const Span& run, uint32_t keep_first, uint32_t keep_count, Freed freed) {
  describe({run.chunk, keep_first, keep_count}, PageUse::kLargeRun);
  const uint32_t before = keep_first - run.first;
  const uint32_t behind = run.count - before - keep_count;
  if (before != 0) give_back({run.chunk, run.first, before}, freed);
  if (behind != 0) give_back({run.chunk, keep_first + keep_count, behind}, freed);
}

void PageRuns::give_back(Span run, Freed freed) {
  if (freed == Freed::kDirty) mark_dirty(run);
  run = join_neighbours(run);
  describe(run, PageUse::kFree);
  if (run.count == kLargestRunPages) {
    retire(*run.chunk);
  } else {
    available_.insert(key(run));
  }
  if (dirty_pages_ > kDirtyMax) purge();
}

PageRuns::Span PageRuns::join_neighbours(Span run) {
  const uint32_t end = run.first + run.count;
  if (end < kChunkPages && run.chunk->pages[end].use == PageUse::kFree) {
    const Span next{run.chunk, end, run.chunk->pages[end].count};
    available_.erase(key(next));
    run.count += next.count;
  }
  const RunPage& before = run.chunk->pages[run.first - 1];
  if (before.use == PageUse::kFree) {
    const Span previous{run.chunk, before.first, before.count};
    available_.erase(key(previous));
    run.first = previous.first;
    run.count += previous.count;
  }
  return run;
}

// The chunk becomes the spare; the previous spare is released.
void PageRuns::retire(RunChunk& chunk) {
  if (spare_ != nullptr) {
    dirty_pages_ -= spare_->dirty_count;
    if (spare_->listed_dirty) dirty_chunks_.erase(spare_->address);
    chunks_.erase(spare_->address);
    space_.unmap({spare_->address, spare_->address + kRunChunkBytes});
  }
  spare_ = &chunk;
}

void PageRuns::mark_dirty(const Span& run) {
  RunChunk& chunk = *run.chunk;
  chunk.dirty.set(run.first, run.first + run.count);
  chunk.dirty_count += run.count;
  dirty_pages_ += run.count;
  if (!chunk.listed_dirty) dirty_chunks_.insert(chunk.address);
  chunk.listed_dirty = true;
}

// From the highest dirty chunk.
void PageRuns::purge() {
  ++purges_.sweeps;
  while (dirty_pages_ > kDirtyMax / 2) {
    HEAPTAPE_CHECK(!dirty_chunks_.empty());
    const auto highest = std::prev(dirty_chunks_.end());
    RunChunk& chunk = map_.chunk(*highest);
    purge_chunk(chunk);
    if (chunk.dirty_count != 0) continue;
    chunk.listed_dirty = false;
    dirty_chunks_.erase(highest);
  }
}

// From its highest page. A stretch of dirty pages is purged whole, even if less would suffice.
void PageRuns::purge_chunk(RunChunk& chunk) {
  uint32_t end = kChunkPages;
  while (chunk.dirty_count != 0 && dirty_pages_ > kDirtyMax / 2) {
    end = chunk.dirty.last_end(end, true);
    const uint32_t begin = chunk.dirty.last_end(end, false);
    const uint32_t pages = chunk.dirty.clear(begin, end);
    chunk.absent.set(begin, end);
    chunk.dirty_count -= pages;
    dirty_pages_ -= pages;
    ++purges_.madvise_calls;
    purges_.pages += pages;
    end = begin;
  }
}

}  // namespace heaptape::allocators::runs
