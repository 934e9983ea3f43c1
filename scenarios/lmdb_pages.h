// How the LMDB scenarios write their calls: pages, values and transactions.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/address/pages.h"
#include "scenarios/heap_writer.h"

namespace heaptape::scenarios {

// The bytes of a value that fills `pages` pages after its header of 16 bytes.
constexpr uint64_t lmdb_value_bytes(uint64_t pages) {
  return pages * base::kPageBytes - 16;
}

// Writes transactions, one after another. While a reader is open, freed pages stay in use: the tape
// frees them when the reader ends.
class LmdbWriter {
 public:
  explicit LmdbWriter(schema::TapeWriter& tape) : heap_(tape) {}

  Block page() { return heap_.malloc(lmdb_value_bytes(1)); }
  Block value(uint64_t bytes) { return heap_.malloc(bytes); }
  // Changes the contents in place.
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

  // The current transaction; 1 at first.
  uint64_t txn() const { return txn_; }

  void begin_read() {
    held_ = true;
    held_blocks_.emplace_back();
  }
  // Frees the reader's pages, in one transaction for each that had freed something.
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
