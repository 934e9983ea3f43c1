#include "allocators/models/lmdb/free_records.h"

#include <algorithm>
#include <utility>

#include "allocators/models/model.h"

namespace heaptape::allocators::lmdb {
namespace {

// The pages of a record with that many page numbers, after a count and a 16-byte page header
// (OVPAGES() in mdb.c).
uint64_t record_pages(uint64_t ids) {
  return (15 + 8 * (ids + 1)) / kPageBytes + 1;
}

}  // namespace

// If the lowest run of the pool lies in the list's part of the pool, it is also that of the list,
// because every other one is higher.
std::optional<FreeRecords::Place> FreeRecords::find(uint32_t pages) {
  if (found_pages_ != pages) {
    const std::optional<LmdbPage> first = pool_.first_run(pages);
    found_.reset();
    if (first) found_ = Place{*first, pool_.count_below(*first)};
    found_pages_ = pages;
  }
  if (!found_ || uint64_t{found_->below} + pages > loaded_) return std::nullopt;
  return found_;
}

void FreeRecords::take(const Place& place, uint32_t pages) {
  change_pool();
  pool_.erase({place.first, pages});
  loaded_ -= pages;
}

std::optional<uint64_t> FreeRecords::next_key(uint64_t oldest) const {
  uint64_t key = oldest;
  if (!pool_records_.empty()) {
    key = pool_records_.back().key;
  } else if (!freed_records_.empty()) {
    key = freed_records_.front().key;
  }
  return key < oldest ? std::optional(key) : std::nullopt;
}

// A merge writes every new entry and moves the old ones below the highest new one.
bool FreeRecords::load(uint64_t oldest, uint64_t goal) {
  std::optional<uint64_t> key = next_key(oldest);
  if (!key) return false;
  const uint64_t before = loaded_;
  LmdbPage end = 0;  // after the highest new entry, once pages were inserted
  for (; key && (loaded_ == before || loaded_ < goal); key = next_key(oldest)) {
    last_key_ = *key;
    ++counts_.records_loaded;
    if (!pool_records_.empty()) {
      load_pooled();
      continue;
    }
    if (end == 0 && loaded_ != before) end = pool_.at(static_cast<uint32_t>(loaded_) - 1) + 1;
    end = std::max(end, insert_freed());
  }
  note_capacity(before, loaded_ - before);
  counts_.merge_moves += end == 0 ? loaded_ : pool_.count_below(end);
  counts_.ids_loaded += loaded_ - before;
  counts_.longest = std::max(counts_.longest, loaded_);
  return true;
}

void FreeRecords::load_pooled() {
  loaded_ += pool_records_.back().ids;
  pool_records_.pop_back();
}

// Returns where the record's pages end.
LmdbPage FreeRecords::insert_freed() {
  change_pool();
  const FreedRecord& record = freed_records_.front();
  for (const LmdbRun& run : record.runs) pool_.insert(run);
  const LmdbRun last = record.runs.back();
  loaded_ += record.ids;
  unmerged_ids_ -= record.ids;
  freed_records_.pop_front();
  return last.first + last.pages;
}

void FreeRecords::skip(uint64_t oldest) {
  const std::optional<uint64_t> key = next_key(oldest);
  if (!key) return;
  last_key_ = *key;
  if (pool_records_.empty()) {
    skipped_ += freed_records_.front().ids;
    unmerged_ids_ -= freed_records_.front().ids;
    freed_records_.pop_front();
    return;
  }
  change_pool();
  skipped_ += pool_records_.back().ids;
  for (uint64_t i = pool_records_.back().ids; i > 0; --i) {
    pool_.erase({pool_.at(static_cast<uint32_t>(loaded_)), 1});
  }
  pool_records_.pop_back();
}

// mdb_midl_alloc() for the first record, mdb_midl_need() for the others; the array has two extra
// words.
void FreeRecords::note_capacity(uint64_t length, uint64_t added) {
  const uint64_t need = length + added;
  if (capacity_ == 0) {
    capacity_ = need;
  } else if (need > capacity_) {
    capacity_ = ((need + need / 4 + 258) & ~uint64_t{255}) - 2;
    ++counts_.growths;
  }
  counts_.capacity_max = std::max(counts_.capacity_max, capacity_);
}

void FreeRecords::commit(uint64_t txn, std::vector<LmdbRun>& freed) {
  if (last_key_ != 0) rewrite();
  if (!freed.empty()) add_record(txn, freed);
  counts_.leaked_pages += std::exchange(skipped_, 0);
  loaded_ = last_key_ = capacity_ = 0;
}

// The rest of the list goes into one-page records under keys counting down from the last one
// consumed; when keys run short, into longer records.
void FreeRecords::rewrite() {
  uint64_t left = loaded_;
  for (uint64_t key = last_key_; left > 0; --key) {
    uint64_t ids = left;
    if (ids > kLmdbRecordIds && key > 1) {
      ids /= key;
      ids += kLmdbRecordIds - ids % (kLmdbRecordIds + 1);
    }
    pool_records_.push_back({key, ids});
    counts_.rewrite_pages += record_pages(ids);
    left -= ids;
  }
}

void FreeRecords::add_record(uint64_t txn, std::vector<LmdbRun>& freed) {
  std::sort(freed.begin(), freed.end(),
            [](const LmdbRun& a, const LmdbRun& b) { return a.first < b.first; });
  FreedRecord record{txn, 0, {}};
  for (const LmdbRun& run : freed) {
    record.ids += run.pages;
    if (!record.runs.empty() && record.runs.back().first + record.runs.back().pages == run.first) {
      record.runs.back().pages += run.pages;
    } else {
      record.runs.push_back(run);
    }
  }
  freed.clear();
  unmerged_ids_ += record.ids;
  freed_records_.push_back(std::move(record));
}

}  // namespace heaptape::allocators::lmdb
