// The pages written to since they were mapped or purged: those whose contents the kernel must keep.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace heaptape::allocators::slabs {

// Pages are numbered from 0, below the count of extend_to(). Memory: a bit for each page near a
// written one, and 16 bytes per 64 MiB of any others. One thread.
class WrittenPages {
 public:
  // There are at least `count` pages; the new ones count as unwritten.
  void extend_to(uint64_t count) {
    chunks_.resize(std::max<size_t>(chunks_.size(), (count + kChunkPages - 1) / kChunkPages));
  }

  // From `first` to `last`.
  void write(uint64_t first, uint64_t last) {
    const Chunk& chunk = chunks_[first / kChunkPages];
    if (first != last || chunk.words == nullptr) return set(first, last, true);
    (*chunk.words)[first % kChunkPages / 64] |= uint64_t{1} << (first % 64);
  }
  void purge(uint64_t first, uint64_t last) { set(first, last, false); }

  // The first page from `page` on that was, or was not, written to; `end` if none is before it.
  uint64_t next_written(uint64_t page, uint64_t end) const { return next(page, end, true); }
  uint64_t next_unwritten(uint64_t page, uint64_t end) const { return next(page, end, false); }

 private:
  static constexpr uint64_t kChunkPages = 1 << 14;
  using Words = std::array<uint64_t, kChunkPages / 64>;  // bit n % 64 of word n / 64: page n

  struct Chunk {
    std::unique_ptr<Words> words;  // null if all pages are alike
    bool is_written = false;       // if they are alike
  };

  static uint64_t next_chunk(uint64_t page) { return (page / kChunkPages + 1) * kChunkPages; }
  static uint64_t next_word(uint64_t page) { return (page / 64 + 1) * 64; }

  void set(uint64_t first, uint64_t last, bool is_written);
  uint64_t next(uint64_t page, uint64_t end, bool is_written) const;

  std::vector<Chunk> chunks_;
};

}  // namespace heaptape::allocators::slabs
