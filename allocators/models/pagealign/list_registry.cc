#include "allocators/models/pagealign/registries.h"

namespace heaptape::allocators::pagealign {

bool ListRegistry::add(uint64_t address) {
  const uint64_t node = base_.allocate(kNodeBytes, 0).address;
  if (node == 0) return false;
  PageBlock& block = blocks_.at(address);
  block.node = node;
  block.link = order_.push(
      address, [this](uint64_t moved, uint64_t place) { blocks_.at(moved).link = place; });
  return true;
}

void ListRegistry::remove(uint64_t address) {
  PageBlock& block = blocks_.at(address);
  const uint64_t length = order_.size();
  const uint64_t skipped = order_.remove(block.link);
  skipped_ += skipped;
  visited_ += skipped + 1;
  log_.add(length, skipped);
  base_.release(block.node);
}

void ListRegistry::append_counters(std::vector<Counter>& list) const {
  list.push_back({"listNodesVisited", visited_});
  list.push_back({"listNodesSkipped", skipped_});
  list.push_back({"nodeBytes", order_.size() * kNodeBytes});
}

}  // namespace heaptape::allocators::pagealign
