#include "allocators/models/slabs/written_pages.h"

#include <bit>

namespace heaptape::allocators::slabs {

void WrittenPages::set(uint64_t first, uint64_t last, bool is_written) {
  for (uint64_t page = first; page <= last; page = next_chunk(page)) {
    Chunk& chunk = chunks_[page / kChunkPages];
    if (chunk.words == nullptr && chunk.is_written == is_written) continue;
    const uint64_t end = std::min(last, next_chunk(page) - 1);
    if (end - page == kChunkPages - 1) {
      chunk = {nullptr, is_written};
      continue;
    }
    if (chunk.words == nullptr) {
      chunk.words = std::make_unique<Words>();
      chunk.words->fill(chunk.is_written ? ~uint64_t{0} : 0);
    }
    for (uint64_t i = page; i <= end; i = next_word(i)) {
      const uint64_t from = ~uint64_t{0} << (i % 64);
      const uint64_t to = end < next_word(i) ? ~uint64_t{0} >> (63 - end % 64) : ~uint64_t{0};
      uint64_t& word = (*chunk.words)[i % kChunkPages / 64];
      word = is_written ? word | (from & to) : word & ~(from & to);
    }
  }
}

uint64_t WrittenPages::next(uint64_t page, uint64_t end, bool is_written) const {
  while (page < end) {
    const Chunk& chunk = chunks_[page / kChunkPages];
    if (chunk.words == nullptr) {
      if (chunk.is_written == is_written) return page;
      page = next_chunk(page);
      continue;
    }
    const uint64_t word = (*chunk.words)[page % kChunkPages / 64];
    const uint64_t found = (is_written ? word : ~word) & ~uint64_t{0} << (page % 64);
    if (found != 0) {
      return std::min(end, page / 64 * 64 + static_cast<uint64_t>(std::countr_zero(found)));
    }
    page = next_word(page);
  }
  return end;
}

}  // namespace heaptape::allocators::slabs
