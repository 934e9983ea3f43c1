#include "allocators/models/slabs/arenas.h"

namespace heaptape::allocators::slabs {

Arenas::Arenas(SharedState& shared, uint64_t count, const ExtentOptions& options)
    : shared_(shared), count_(count), options_(options), by_number_(count) {}

Arena& Arenas::numbered(uint64_t number) {
  if (by_number_[number] == nullptr) by_number_[number] = &make(options_);
  return *by_number_[number];
}

Arena& Arenas::huge() {
  if (huge_ == nullptr) {
    ExtentOptions options = options_;
    if (options.dirty_decay_ms != SmoothDecay::kNever) options.dirty_decay_ms = 0;
    if (options.muzzy_decay_ms != SmoothDecay::kNever) options.muzzy_decay_ms = 0;
    huge_ = &make(options);
  }
  return *huge_;
}

// The first arena's records share their memory with the index.
Arena& Arenas::make(const ExtentOptions& options) {
  MetadataBlocks* metadata = &shared_.first_metadata;
  if (!arenas_.empty()) {
    metadata_.push_back(std::make_unique<MetadataBlocks>(shared_.system));
    metadata = metadata_.back().get();
  }
  return *arenas_.emplace_back(std::make_unique<Arena>(shared_, *metadata, options));
}

FreePages Arenas::free_pages() const {
  FreePages sum;
  for (const auto& arena : arenas_) {
    sum.dirty += arena->extents.pages(ExtentState::kDirty);
    sum.muzzy += arena->extents.pages(ExtentState::kMuzzy);
    sum.retained += arena->extents.pages(ExtentState::kRetained);
  }
  return sum;
}

uint64_t Arenas::metadata_bytes() const {
  uint64_t sum = shared_.first_metadata.bytes();
  for (const auto& metadata : metadata_) sum += metadata->bytes();
  return sum;
}

void Arenas::append_absent(std::vector<AddressRange>& ranges) const {
  for (const auto& arena : arenas_) arena->extents.append_absent(ranges);
  for (const auto& metadata : metadata_) metadata->append_absent(ranges);
  shared_.first_metadata.append_absent(ranges);
  shared_.index.append_absent(ranges);
}

}  // namespace heaptape::allocators::slabs
