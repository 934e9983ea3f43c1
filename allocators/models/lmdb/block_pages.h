// The pages of each block, by the page that its address lies in. One thread.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "allocators/models/lmdb/page_set.h"

namespace heaptape::allocators::lmdb {

// A table in pieces, created where blocks are: blocks spread over much of a large file cost little.
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
