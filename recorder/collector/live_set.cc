#include "recorder/collector/live_set.h"

#include <algorithm>

#include "base/address/address_range.h"
#include "base/address/pages.h"

namespace heaptape::recorder {

using base::kPageBytes;

bool LiveSet::any_in(base::AddressRange range, MappedChunks mapped_chunks) const {
  for (uint64_t at = range.begin; at < range.end;) {
    const uint64_t leaf_end = (at / base::kLeafSpan + 1) * base::kLeafSpan;
    const Leaf* leaf = tree_.find(at);
    if (leaf == nullptr) {
      at = leaf_end;
      continue;
    }
    const uint64_t word_begin = at / kWordSpan * kWordSpan;
    uint64_t word = leaf->words[word_of(at)];
    if (word_begin < range.begin) word &= ~uint64_t{0} << ((at - word_begin) >> kGranuleLog2);
    if (range.end - word_begin < kWordSpan) {
      word &= (uint64_t{1} << ((range.end - word_begin) >> kGranuleLog2)) - 1;
    }
    if (mapped_chunks == MappedChunks::kSkip && word_begin % kPageBytes == 0)
      word &= ~bit_of(word_begin + 16);
    if (word != 0) return true;
    at = std::min(word_begin + kWordSpan, leaf_end);
  }
  return false;
}

}  // namespace heaptape::recorder
