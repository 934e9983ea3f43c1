#include "allocators/models/lmdb/lmdb_model.h"

#include <algorithm>

#include "base/check.h"

namespace heaptape::allocators {
namespace {

using lmdb::FreeRecords;
using lmdb::LmdbPage;
using lmdb::LmdbPageAllocator;
using lmdb::LmdbRun;
using lmdb::LmdbVariant;

// Beyond this there are no pages, and sums of sizes could wrap.
constexpr uint64_t kMostBytes = LmdbPageAllocator::kMostPages * kPageBytes;

constexpr uint64_t address_of(LmdbPage page) {
  return kModelBase + page * kPageBytes;
}

constexpr LmdbPage page_of(uint64_t address) {
  return static_cast<LmdbPage>((address - kModelBase) / kPageBytes);
}

// CommitRule::words.
constexpr char kSkipsList[] =
    "requests of % pages or more (skip_pages) do not search: the file grows";
constexpr char kGivesUp[] =
    "the search gave up before it found a run of free pages % long: the file grows";
constexpr char kNoRun[] = "no run of usable free pages is % long: the file grows";

LmdbPageAllocator::Options page_options(const base::Values& options) {
  return {.variant = options.get<LmdbVariant>("variant"),
          .skip_pages = options["skip_pages"],
          .load_ids = options["load_ids"],
          .reader_txn = options["hold_reader"]};
}

}  // namespace

std::vector<base::Parameter> LmdbModel::parameters() {
  return {
      base::choice("variant", LmdbVariant::kF0, "as released, or one of the fixes proposed",
                   {"f0", "f1", "f1-bug", "f2", "f3"}),
      {"txn_ops", 0, "calls in a transaction; 0: only free(NULL) ends one"},
      {"hold_reader", 0, "number of the transaction that a reader holds open for good; 0: none"},
      {"skip_pages", 10'000, "f2: requests of this many pages or more extend the file"},
      {"load_ids", 262'144, "f3: a free list of this length is not made longer"}};
}

LmdbModel::LmdbModel(AddressSpace& space, const base::Values& options)
    : space_(space),
      skip_pages_(options.get<LmdbVariant>("variant") == LmdbVariant::kF2 ? options["skip_pages"]
                                                                          : UINT64_MAX),
      pages_(page_options(options)),
      txn_ops_(options["txn_ops"]) {}

Placement LmdbModel::allocate(uint64_t bytes, uint64_t alignment) {
  const Placement placed = place(bytes, alignment);
  if (placed.address != 0) count_call();
  return placed;
}

Placement LmdbModel::place(uint64_t bytes, uint64_t alignment) {
  bytes = std::max<uint64_t>(bytes, 1);
  alignment = std::max(alignment, kHeaderBytes);
  if (bytes >= kMostBytes || alignment >= kMostBytes) return {};
  const uint64_t file_end = address_of(static_cast<LmdbPage>(pages_.file_pages()));
  const uint64_t count = pages_for(bytes, alignment);
  const uint64_t given_up = pages_.counts().retry_exhausted;
  const std::optional<LmdbPage> first = pages_.allocate(count);
  if (!first) return {};
  const uint64_t begin = address_of(*first);
  const uint64_t end = begin + count * kPageBytes;
  if (end > file_end) {
    const bool gave_up = pages_.counts().retry_exhausted != given_up;
    const CommitRule rule = count >= skip_pages_ ? CommitRule{kSkipsList, {skip_pages_}}
                                                 : CommitRule{gave_up ? kGivesUp : kNoRun, {count}};
    space_.commit({file_end, end}, rule);
  }
  const uint64_t address = round_up(begin + kHeaderBytes, alignment);
  blocks_.of(page_of(address)) = {*first, static_cast<uint32_t>(count)};
  return {address, end - address};
}

Placement LmdbModel::reallocate(uint64_t address, uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, 1);
  if (bytes >= kMostBytes) return {};
  const LmdbRun run = blocks_.of(page_of(address));
  Placement placed{address, address_of(run.first) + run.pages * kPageBytes - address};
  if (pages_for(bytes, address - address_of(run.first)) == run.pages) {
    pages_.touch();
  } else {
    placed = place(bytes, 0);
    if (placed.address == 0) return {};
    give_back(address);
  }
  count_call();
  return placed;
}

void LmdbModel::release(uint64_t address) {
  give_back(address);
  count_call();
}

void LmdbModel::give_back(uint64_t address) {
  LmdbRun& run = blocks_.of(page_of(address));
  HEAPTAPE_CHECK(run.pages != 0);
  pages_.release(run);
  run = {};
}

void LmdbModel::release_null() {
  pages_.commit();
  calls_ = 0;
}

void LmdbModel::count_call() {
  if (++calls_ == txn_ops_) release_null();
}

std::vector<Counter> LmdbModel::counters() const {
  const LmdbPageAllocator::Counts& pages = pages_.counts();
  const FreeRecords::Counts& records = pages_.record_counts();
  return {{"searchCmps", pages.search_cmps},
          {"failedSearches", pages.failed_searches},
          {"recordsLoaded", records.records_loaded},
          {"idsLoaded", records.ids_loaded},
          {"mergeMoves", records.merge_moves},
          {"stragglerMoves", pages.straggler_moves},
          {"retryExhausted", pages.retry_exhausted},
          {"allocFromFreelist1", pages.from_freelist[0]},
          {"allocFromFreelistN", pages.from_freelist[1]},
          {"allocExtend1", pages.extends[0]},
          {"allocExtendN", pages.extends[1]},
          {"maxMopLen", records.longest},
          {"mopGrowths", records.growths},
          {"maxMopCapacity", records.capacity_max},
          {"freelistRewritePages", records.rewrite_pages},
          {"leakedPages", records.leaked_pages},
          {"commits", pages.commits},
          {"filePages", pages_.file_pages()}};
}

}  // namespace heaptape::allocators
