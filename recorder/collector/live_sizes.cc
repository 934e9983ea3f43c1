#include "recorder/collector/live_sizes.h"

namespace heaptape::recorder {

uint64_t LiveSizes::take_large(uint64_t address) {
  const auto found = large_.find(address >> kGranuleLog2);
  const uint64_t size = found->second;
  large_.erase(found);
  return size;
}

}  // namespace heaptape::recorder
