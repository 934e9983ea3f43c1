// Which pages were written to since they were mapped or purged: what the kernel has to keep.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace heaptape::allocators::slabs {

// Pages have numbers from 0, below those of extend_to(). Memory: a bit for each page near a written
// one, and 16 bytes for 64 MiB of any others. One thread.
class WrittenPages {
 public:
  // There are at least `count` pages; the new ones were not written to.
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

  // The first page from `page` on that was written to, or was not; `end` if there is none before.
  uint64_t next_written(uint64_t page, uint64_t end) const { return next(page, end, true); }
  uint64_t next_unwritten(uint64_t page, uint64_t end) const { return next(page, end, false); }

 private:
  static constexpr uint64_t kChunkPages = 1 << 14;
  using Words = std::array<uint64_t, kChunkPages / 64>;  // bit n % 64 of word n / 64: page n

  struct Chunk {
    std::unique_ptr<Words> words;  // null: all pages are alike
    bool is_written = false;       // if they are
  };

  static uint64_t next_chunk(uint64_t page) { return (page / kChunkPages + 1) * kChunkPages; }
  static uint64_t next_word(uint64_t page) { return (page / 64 + 1) * 64; }

  void set(uint64_t first, uint64_t last, bool is_written);
  uint64_t next(uint64_t page, uint64_t end, bool is_written) const;

  std::vector<Chunk> chunks_;
};

}  // namespace heaptape::allocators::slabs
