// LMDB's page allocation word for word: a sorted array that is walked. Slow, but simple enough to
// compare with mdb_page_alloc(), mdb_midl_xmerge() and mdb_freelist_save() by eye.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "allocators/models/lmdb/page_allocator.h"

namespace heaptape::tests {

class LiteralLmdb {
 public:
  using Page = allocators::lmdb::LmdbPage;
  using Variant = allocators::lmdb::LmdbVariant;
  using Options = allocators::lmdb::LmdbPageAllocator::Options;
  using Ids = std::vector<Page>;  // entries 1..n descend; entry 0 is unused

  struct Counts {
    uint64_t cmps = 0, merge_moves = 0, straggler_moves = 0;
    uint64_t records_loaded = 0, leaked = 0, rewrite_pages = 0;
    bool operator==(const Counts&) const = default;
  };

  explicit LiteralLmdb(const Options& options) : options_(options) {}

  Page allocate(uint32_t num) {
    if (options_.variant != Variant::kF2 || num < options_.skip_pages) {
      if (const auto page = from_list(num)) return *page;
    }
    next_page_ += num;
    return next_page_ - num;
  }

  void release(Page first, uint32_t pages) {
    for (uint32_t i = 0; i < pages; ++i) freed_.push_back(first + i);
  }

  // Requires a transaction that did something.
  void commit() {
    records_.erase(records_.begin(), records_.upper_bound(last_key_));
    if (last_key_ != 0) save_list();
    if (freed_.size() > 1) {
      std::sort(freed_.begin() + 1, freed_.end(), std::greater<>());
      records_[txn_] = freed_;
    }
    freed_ = mop_ = Ids(1);
    last_key_ = 0;
    ++txn_;
  }

  const Counts& counts() const { return counts_; }

 private:
  std::optional<Page> from_list(uint32_t num) {
    int64_t retry = int64_t{60} * num;
    const size_t n2 = num - 1;
    for (;;) {
      if (length() > n2) {
        size_t i = length();
        do {
          ++counts_.cmps;
          if (mop_[i - n2] == mop_[i] + n2) return take(i, num);
        } while (--i > n2);
        if (--retry < 0) return std::nullopt;
      }
      if (!load()) return std::nullopt;
    }
  }

  Page take(size_t i, uint32_t num) {
    const Page page = mop_[i];
    const size_t left = length() - num;
    for (size_t j = i - num; j < left; ++counts_.straggler_moves) mop_[++j] = mop_[++i];
    mop_.resize(left + 1);
    return page;
  }

  bool load() {
    if (options_.variant == Variant::kF3 && length() >= options_.load_ids) return false;
    const bool many = options_.variant == Variant::kF1 || options_.variant == Variant::kF1Bug;
    Ids batch(1);
    do {
      const auto record = next();
      if (record == records_.end()) break;
      last_key_ = record->first;
      batch.insert(batch.end(), record->second.begin() + 1, record->second.end());
      ++counts_.records_loaded;
    } while (many && batch.size() - 1 < length());
    if (batch.size() == 1) return false;
    std::sort(batch.begin() + 1, batch.end(), std::greater<>());
    merge(batch);
    const auto ahead = next();
    if (options_.variant == Variant::kF1Bug && ahead != records_.end()) {
      last_key_ = ahead->first;
      leaking_ += ahead->second.size() - 1;
    }
    return true;
  }

  std::map<uint64_t, Ids>::const_iterator next() const {
    uint64_t oldest = txn_ - 1;
    if (options_.reader_txn != 0) oldest = std::min(oldest, options_.reader_txn);
    const auto record = records_.upper_bound(last_key_);
    return record == records_.end() || record->first >= oldest ? records_.end() : record;
  }

  void merge(const Ids& batch) {
    size_t i = batch.size() - 1;
    size_t j = length();
    size_t k = i + j;
    mop_.resize(k + 1);
    mop_[0] = ~Page{0};
    for (; i > 0; --i) {
      for (; mop_[j] < batch[i]; ++counts_.merge_moves) mop_[k--] = mop_[j--];
      mop_[k--] = batch[i];
      ++counts_.merge_moves;
    }
  }

  // First makes room under keys counting down; the list's low end then fills it, first key first.
  void save_list() {
    counts_.leaked += leaking_;
    leaking_ = 0;
    std::map<uint64_t, size_t> rooms;
    size_t left = length();
    for (uint64_t key = last_key_; left > 0; --key) {
      size_t room = left;
      if (room > 509 && key > 1) {
        room /= key;
        room += 509 - room % 510;
      }
      rooms[key] = room;
      left -= room;
      counts_.rewrite_pages += (15 + 8 * (room + 1)) / 4096 + 1;
    }
    size_t end = mop_.size();
    for (const auto& [key, room] : rooms) {
      Ids& ids = records_[key] = Ids(1);
      end -= room;
      ids.insert(ids.end(), mop_.begin() + static_cast<ptrdiff_t>(end),
                 mop_.begin() + static_cast<ptrdiff_t>(end + room));
    }
  }

  size_t length() const { return mop_.size() - 1; }

  const Options options_;
  std::map<uint64_t, Ids> records_;
  Ids mop_ = Ids(1), freed_ = Ids(1);
  uint64_t txn_ = 1, last_key_ = 0, leaking_ = 0;
  Page next_page_ = 2;
  Counts counts_;
};

}  // namespace heaptape::tests
