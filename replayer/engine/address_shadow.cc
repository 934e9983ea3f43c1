#include "replayer/engine/address_shadow.h"

namespace heaptape::replayer {

uint32_t AddressShadow::find_odd(uint64_t address) const {
  const auto found = odd_.find(address);
  return found == odd_.end() ? kNoSlot : found->second;
}

void AddressShadow::refine(std::span<const SlotBlock> blocks) {
  granule_log2_ = 3;
  tree_ = std::make_unique<base::AddressTree<Leaf>>();
  for (uint32_t slot = 0; slot < blocks.size(); ++slot) {
    if (blocks[slot].address != 0) set(blocks[slot].address, slot);
  }
}

}  // namespace heaptape::replayer
