#include "allocators/models/lmdb/page_allocator.h"

#include <algorithm>

namespace heaptape::allocators::lmdb {
namespace {

constexpr int64_t kRetriesPerPage = 60;

}  // namespace

std::optional<LmdbPage> LmdbPageAllocator::allocate(uint64_t pages) {
  if (pages >= kMostPages) return std::nullopt;
  const uint64_t cmps_before = counts_.search_cmps;
  const uint64_t free_before = records_.total();
  std::optional<LmdbPage> page = from_freelist(static_cast<uint32_t>(pages));
  if (page) {
    ++counts_.from_freelist[pages > 1];
  } else if (next_page_ + pages < kMostPages) {
    page = next_page_;
    next_page_ += static_cast<LmdbPage>(pages);
    ++counts_.extends[pages > 1];
  }
  if (page) dirty_ = true;
  if (pages > 1) allocations_.add(free_before, counts_.search_cmps - cmps_before);
  return page;
}

std::optional<LmdbPage> LmdbPageAllocator::from_freelist(uint32_t pages) {
  if (options_.variant == LmdbVariant::kF2 && pages >= options_.skip_pages) return std::nullopt;
  int64_t retries = kRetriesPerPage * pages;
  do {
    if (records_.loaded() < pages) continue;
    if (const auto place = search(pages)) {
      counts_.straggler_moves += place->below;
      records_.take(*place, pages);
      return place->first;
    }
    if (--retries < 0) {
      ++counts_.retry_exhausted;
      return std::nullopt;
    }
  } while (load_more());
  return std::nullopt;
}

// LMDB compares each entry, beginning with the lowest, with the one that would end the run.
std::optional<FreeRecords::Place> LmdbPageAllocator::search(uint32_t pages) {
  const auto place = records_.find(pages);
  const uint64_t cmps = place ? place->below + 1 : records_.loaded() - (pages - 1);
  counts_.search_cmps += cmps;
  counts_.failed_searches += !place;
  if (pages > 1) searches_.add(records_.loaded(), cmps);
  return place;
}

bool LmdbPageAllocator::load_more() {
  uint64_t oldest = txn_ - 1;
  if (options_.reader_txn != 0) oldest = std::min(oldest, options_.reader_txn);
  switch (options_.variant) {
    case LmdbVariant::kF1:
      return records_.load(oldest, 2 * records_.loaded());
    case LmdbVariant::kF1Bug:
      if (!records_.load(oldest, 2 * records_.loaded())) return false;
      records_.skip(oldest);
      return true;
    case LmdbVariant::kF3:
      return records_.loaded() < options_.load_ids && records_.load(oldest, 0);
    default:
      return records_.load(oldest, 0);
  }
}

void LmdbPageAllocator::release(LmdbRun run) {
  freed_.push_back(run);
  dirty_ = true;
}

void LmdbPageAllocator::commit() {
  if (!dirty_) return;
  records_.commit(txn_, freed_);
  ++txn_;
  ++counts_.commits;
  dirty_ = false;
}

std::vector<GrowthCurve> LmdbPageAllocator::growth() const {
  return {searches_.curve("search", "comparisons", "free-list length"),
          allocations_.curve("allocation", "comparisons", "free pages")};
}

}  // namespace heaptape::allocators::lmdb
