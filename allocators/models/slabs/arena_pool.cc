#include "allocators/models/slabs/arena_pool.h"

#include <algorithm>

namespace heaptape::allocators::slabs {

ArenaPool::ArenaPool(SharedState& shared, uint64_t count, const PageAllocator::Options& options)
    : shared_(shared), count_(count), options_(options), by_index_(count), attached_(count) {}

Arena& ArenaPool::at(uint64_t index) {
  if (by_index_[index] == nullptr) by_index_[index] = &make(options_);
  return *by_index_[index];
}

Arena& ArenaPool::attach() {
  uint64_t chosen = count_;
  uint64_t not_made = count_;
  for (uint64_t i = 0; i < count_; ++i) {
    if (by_index_[i] == nullptr) {
      if (not_made == count_) not_made = i;
    } else if (chosen == count_ || attached_[i] < attached_[chosen]) {
      chosen = i;
    }
  }
  const bool takes_made = chosen != count_ && (attached_[chosen] == 0 || not_made == count_);
  if (!takes_made) chosen = not_made;
  ++attached_[chosen];
  return at(chosen);
}

uint32_t ArenaPool::detach(const Arena& arena) {
  const auto found = std::ranges::find(by_index_, &arena);
  return --attached_[static_cast<size_t>(found - by_index_.begin())];
}

Arena& ArenaPool::huge() {
  if (huge_ == nullptr) {
    PageAllocator::Options options = options_;
    if (options.dirty_decay_ms != SmoothDecay::kNever) options.dirty_decay_ms = 0;
    if (options.muzzy_decay_ms != SmoothDecay::kNever) options.muzzy_decay_ms = 0;
    huge_ = &make(options);
  }
  return *huge_;
}

// The first arena's records and the index share their memory.
Arena& ArenaPool::make(const PageAllocator::Options& options) {
  MetadataBlocks* metadata = &shared_.first_metadata;
  if (!arenas_.empty()) {
    metadata_.push_back(std::make_unique<MetadataBlocks>(shared_.system));
    metadata = metadata_.back().get();
  }
  return *arenas_.emplace_back(std::make_unique<Arena>(shared_, *metadata, options));
}

FreePages ArenaPool::free_pages() const {
  FreePages sum;
  for (const auto& arena : arenas_) {
    sum.dirty += arena->pages.free_pages(ExtentState::kDirty);
    sum.muzzy += arena->pages.free_pages(ExtentState::kMuzzy);
    sum.retained += arena->pages.free_pages(ExtentState::kRetained);
  }
  return sum;
}

uint64_t ArenaPool::metadata_bytes() const {
  uint64_t sum = shared_.first_metadata.bytes();
  for (const auto& metadata : metadata_) sum += metadata->bytes();
  return sum;
}

void ArenaPool::append_absent(std::vector<AddressRange>& ranges) const {
  shared_.system.append_absent(ranges);
  for (const auto& metadata : metadata_) metadata->append_absent(ranges);
  shared_.first_metadata.append_absent(ranges);
  shared_.index.append_absent(ranges);
}

}  // namespace heaptape::allocators::slabs
