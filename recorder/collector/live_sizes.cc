#include "recorder/collector/live_sizes.h"

namespace heaptape::recorder {

uint64_t LiveSizes::take_huge(uint64_t address) {
  const auto found = huge_.find(address >> kWordSpanLog2);
  const uint64_t size = found->second;
  huge_.erase(found);
  return size;
}

}  // namespace heaptape::recorder
