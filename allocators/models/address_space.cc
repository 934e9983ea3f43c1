#include "allocators/models/model.h"

namespace heaptape::allocators {

void AddressSpace::commit(AddressRange range, const CommitRule& rule) {
  events_.push_back({op_, RegionEvent::Kind::kCommit, range, rule});
}

void AddressSpace::decommit(AddressRange range) {
  events_.push_back({op_, RegionEvent::Kind::kDecommit, range});
}

}  // namespace heaptape::allocators
