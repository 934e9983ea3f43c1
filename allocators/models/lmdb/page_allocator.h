// mdb_page_alloc() of LMDB 0.9.31 and four published ways to speed it up. docs/models/lmdb.md.
//
// A search of the list is charged LMDB's comparisons, entry by entry, but takes logarithmic time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "allocators/growth_log.h"
#include "allocators/models/lmdb/free_records.h"
#include "allocators/models/lmdb/page_set.h"

namespace heaptape::allocators::lmdb {

enum class LmdbVariant : uint64_t {
  kF0,     // as released
  kF1,     // loads until the list has doubled before it searches again
  kF1Bug,  // the same, but each load also consumes one more record without merging it
  kF2,     // large requests do not look at free pages
  kF3,     // a long list is not extended
};

class LmdbPageAllocator {
 public:
  struct Options {
    LmdbVariant variant = LmdbVariant::kF0;
    uint64_t skip_pages = 10'000;  // kF2: requests of this size or more extend the file
    uint64_t load_ids = 262'144;   // kF3: a list of this length is not extended
    uint64_t reader_txn = 0;       // a reader that never ends; 0 = none
  };
  struct Counts {
    uint64_t search_cmps = 0;
    uint64_t failed_searches = 0;
    uint64_t straggler_moves = 0;    // of list entries, to close the gap after a run taken
    uint64_t retry_exhausted = 0;    // allocations that made as many searches as allowed
    uint64_t from_freelist[2] = {};  // allocations of one page, and of more
    uint64_t extends[2] = {};
    uint64_t commits = 0;
  };

  // Pages 0 and 1 are the meta pages. Beyond 4 TiB of file, allocations are refused.
  static constexpr LmdbPage kFirstPage = 2;
  static constexpr uint64_t kMostPages = uint64_t{1} << 30;

  explicit LmdbPageAllocator(const Options& options) : options_(options) {}

  // The first of `pages` consecutive pages; nothing if the file would become too large. pages > 0.
  std::optional<LmdbPage> allocate(uint64_t pages);
  // Makes them free for transactions after the next one.
  void release(LmdbRun run);
  // Ends the transaction; one that did nothing goes on.
  void commit();
  // A page was written to.
  void touch() { dirty_ = true; }

  uint64_t file_pages() const { return next_page_; }
  const Counts& counts() const { return counts_; }
  const FreeRecords::Counts& record_counts() const { return records_.counts(); }
  // Searches for more than one page against the length of the list, and allocations of more than
  // one page against all free pages. A single page is found at the first look.
  std::vector<GrowthCurve> growth() const;

 private:
  std::optional<LmdbPage> from_freelist(uint32_t pages);
  std::optional<FreeRecords::Place> search(uint32_t pages);
  bool load_more();

  const Options options_;
  uint64_t txn_ = 1;
  bool dirty_ = false;
  LmdbPage next_page_ = kFirstPage;
  FreeRecords records_;
  std::vector<LmdbRun> freed_;  // by this transaction
  Counts counts_;
  GrowthLog searches_;
  GrowthLog allocations_;
};

// The pages of each block, by the page that its address lies in. A table in pieces, created where
// blocks are: blocks spread over much of a large file cost little. One thread.
class BlockPages {
 public:
  // The pages of the block whose address lies in `page`; 0 pages until it is set.
  LmdbRun& of(LmdbPage page) {
    const uint32_t piece = page / kPiecePages;
    if (piece >= pieces_.size()) pieces_.resize(piece + 1);
    if (pieces_[piece] == nullptr) pieces_[piece] = std::make_unique<Piece>();
    return (*pieces_[piece])[page % kPiecePages];
  }

 private:
  static constexpr uint32_t kPiecePages = 4096;
  using Piece = std::array<LmdbRun, kPiecePages>;

  std::vector<std::unique_ptr<Piece>> pieces_;
};

}  // namespace heaptape::allocators::lmdb
