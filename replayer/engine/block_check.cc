#include "replayer/engine/block_check.h"

#include "base/number_text.h"

namespace heaptape::replayer {

std::string describe_flaw(const allocators::ReplayOp& op, const allocators::Placement& block,
                          uint64_t granule_bytes) {
  const std::string placed =
      "it placed a block at " +
      base::format_text("0x%llx", static_cast<unsigned long long>(block.address));
  if (block.address % granule_bytes != 0) {
    return placed + ", which is not a multiple of " + std::to_string(granule_bytes);
  }
  const std::string usable =
      placed + " with " + std::to_string(block.usable_bytes) + " usable bytes, ";
  if (block.usable_bytes < op.size) {
    return usable + "for a request of " + std::to_string(op.size);
  }
  if (!is_sound(op, block, granule_bytes)) return usable + "more than there is address space";
  return usable + "over a block that is live";
}

}  // namespace heaptape::replayer
