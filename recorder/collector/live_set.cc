#include "recorder/collector/live_set.h"

#include <algorithm>

#include "base/address/address_range.h"
#include "base/address/pages.h"
#include "recorder/collector/own_mappings.h"

namespace heaptape::recorder {

using base::kPageBytes;

size_t LiveSet::index_among_few(uint64_t address) const {
  const uint64_t granule = address >> kGranuleLog2 << kGranuleLog2;
  return static_cast<size_t>(std::find(few_.begin(), few_.begin() + few_count_, granule) -
                             few_.begin());
}

// A tree takes over when there are more.
bool LiveSet::set_among_few(uint64_t address, bool is_live) {
  const size_t index = index_among_few(address);
  if ((index != few_count_) == is_live) return false;
  if (!is_live) {
    few_[index] = few_[--few_count_];
    return true;
  }
  if (few_count_ < kFew) {
    few_[few_count_++] = address >> kGranuleLog2 << kGranuleLog2;
    return true;
  }
  tree_.emplace();
  for (const uint64_t granule : few_) insert(granule);
  return insert(address);
}

bool LiveSet::any_in(base::AddressRange range, MappedChunks mapped_chunks) const {
  if (!tree_) {
    return std::any_of(few_.begin(), few_.begin() + few_count_, [&](uint64_t granule) {
      const bool skipped =
          mapped_chunks == MappedChunks::kSkip && OwnMappings::may_have_one(granule);
      return granule >= range.begin && granule < range.end && !skipped;
    });
  }
  for (uint64_t at = range.begin; at < range.end;) {
    const uint64_t leaf_end = (at / base::kLeafSpan + 1) * base::kLeafSpan;
    const Leaf* leaf = tree_->find(at);
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
      word &= ~bit_of(word_begin + OwnMappings::kBlockOffset);
    if (word != 0) return true;
    at = std::min(word_begin + kWordSpan, leaf_end);
  }
  return false;
}

}  // namespace heaptape::recorder
