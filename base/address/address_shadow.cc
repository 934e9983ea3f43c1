#include "base/address/address_shadow.h"

namespace heaptape::base {

uint32_t AddressShadow::find_odd(uint64_t address) const {
  const auto found = odd_.find(address);
  return found == odd_.end() ? kNone : found->second;
}

uint32_t AddressShadow::take_odd(uint64_t address) {
  const auto node = odd_.extract(address);
  return node.empty() ? kNone : node.mapped();
}

// From the back: a number's new place is after all those still to be moved.
void AddressShadow::Leaf::refine() {
  for (size_t stretch = kLeafSpan / 16 / kStretch; stretch-- > 0;) {
    if (!has_numbers[stretch]) continue;
    for (size_t i = (stretch + 1) * kStretch; i-- > stretch * kStretch;) {
      const uint32_t number = numbers[i];
      if (number == 0) continue;
      numbers[i] = 0;
      numbers[2 * i] = number;
    }
  }
  is_fine = 1;
}

}  // namespace heaptape::base
