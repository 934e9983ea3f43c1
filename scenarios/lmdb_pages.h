// What the scenarios of LMDB are written with: pages, values and transactions on a tape.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/address/pages.h"
#include "scenarios/heap_writer.h"

namespace heaptape::scenarios {

// The bytes of a value that fills so many pages: a header of 16 bytes precedes it.
constexpr uint64_t lmdb_value_bytes(uint64_t pages) {
  return pages * base::kPageBytes - 16;
}

// One thread of transactions. A reader may hold what they free: to a program that reads, a page is
// in use until its reader has gone, and so it is on the tape.
class LmdbWriter {
 public:
  explicit LmdbWriter(schema::TapeWriter& tape) : heap_(tape) {}

  Block page() { return heap_.malloc(lmdb_value_bytes(1)); }
  Block value(uint64_t bytes) { return heap_.malloc(bytes); }
  // Changes what is in it, in place.
  void rewrite(Block& block) { heap_.realloc(block, block.size); }
  void free(Block& block) {
    if (held_) {
      held_blocks_.back().push_back(std::exchange(block, {}));
    } else {
      heap_.free(block);
    }
  }
  void commit() {
    heap_.free_null();
    ++txn_;
    if (held_) held_blocks_.emplace_back();
  }

  // The running transaction, 1 at first.
  uint64_t txn() const { return txn_; }

  void begin_read() {
    held_ = true;
    held_blocks_.emplace_back();
  }
  // What was held is freed now, one transaction for each that had freed something.
  void end_read() {
    held_ = false;
    for (std::vector<Block>& blocks : std::exchange(held_blocks_, {})) {
      if (blocks.empty()) continue;
      for (Block& block : blocks) heap_.free(block);
      commit();
    }
  }

 private:
  HeapWriter heap_;
  uint64_t txn_ = 1;
  bool held_ = false;
  std::vector<std::vector<Block>> held_blocks_;  // by transaction
};

}  // namespace heaptape::scenarios
