// LMDB's free pages: the freeDB, whose records say which pages each transaction freed, and the list
// of pages that the running transaction has loaded ("mop" in mdb.c). It does the work of
// mdb_freelist_save() and mdb_midl_xmerge() of LMDB 0.9.31 in less time.
//
// A transaction loads records and, when it commits, writes back what is left of them; so does the
// next. Pages that were loaded once are therefore kept in one sorted set, the pool:
//
//   keys, oldest first   [ rewritten records of the pool ][ records as transactions freed them ]
//   pages, lowest first  [ the first loaded() pages |  the rest  ]
//
// Invariant: rewritten records are older than all others and cut the pool in order, lowest pages
// under the oldest key, so the loaded part is always the beginning of the pool. Loading a record
// moves a bound; only pages just freed are ever inserted.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "allocators/models/lmdb/page_set.h"

namespace heaptape::allocators::lmdb {

// Page numbers in a record of one page: 4096 bytes less header and count.
inline constexpr uint64_t kLmdbRecordIds = 509;

class FreeRecords {
 public:
  struct Counts {
    uint64_t records_loaded = 0;
    uint64_t ids_loaded = 0;
    uint64_t merge_moves = 0;    // of list entries, by merging records into the list
    uint64_t rewrite_pages = 0;  // of records that took back the rest of the list
    uint64_t leaked_pages = 0;
    uint64_t longest = 0;  // of the list
    uint64_t growths = 0;  // of the array that holds it
    uint64_t capacity_max = 0;
  };
  // A run in the list.
  struct Place {
    LmdbPage first = 0;
    uint32_t below = 0;  // number of lower entries
  };

  // Length of the list.
  uint64_t loaded() const { return loaded_; }
  // The length of the list and all records.
  uint64_t total() const { return pool_.size() + unmerged_ids_; }

  // The lowest run of that many pages in the list.
  std::optional<Place> find(uint32_t pages);
  // Takes what find() found.
  void take(const Place& place, uint32_t pages);

  // Merges the oldest record with a key below `oldest` into the list, and further ones while the
  // list is shorter than `goal`, as one merge. False if there is none.
  bool load(uint64_t oldest, uint64_t goal);
  // Consumes the oldest record without loading it: at commit its pages are lost.
  void skip(uint64_t oldest);

  // Ends a transaction that freed `freed`; empties `freed`.
  void commit(uint64_t txn, std::vector<LmdbRun>& freed);

  const Counts& counts() const { return counts_; }

 private:
  struct PoolRecord {
    uint64_t key = 0;
    uint64_t ids = 0;
  };
  struct FreedRecord {
    uint64_t key = 0;
    uint64_t ids = 0;
    std::vector<LmdbRun> runs;  // ascending
  };

  std::optional<uint64_t> next_key(uint64_t oldest) const;
  void load_pooled();
  LmdbPage insert_freed();
  void note_capacity(uint64_t length, uint64_t added);
  void rewrite();
  void add_record(uint64_t txn, std::vector<LmdbRun>& freed);
  void change_pool() { found_pages_ = 0; }

  PageSet pool_;
  uint64_t loaded_ = 0;
  std::vector<PoolRecord> pool_records_;  // the oldest last
  std::deque<FreedRecord> freed_records_;
  uint64_t unmerged_ids_ = 0;  // of freed_records_

  uint64_t last_key_ = 0;  // consumed by the running transaction; 0 = none
  uint64_t capacity_ = 0;  // of the running transaction's list
  uint64_t skipped_ = 0;   // pages

  // find()'s last result in the whole pool, and its page count; 0 if the pool changed since.
  uint32_t found_pages_ = 0;
  std::optional<Place> found_;

  Counts counts_;
};

}  // namespace heaptape::allocators::lmdb
