#include "replayer/answers/pinning_blocks.h"

#include "replayer/answers/holes.h"

namespace heaptape::replayer {

std::vector<PinningBlock> pinning_blocks(const HeapPicture& picture) {
  std::vector<PinningBlock> pins;
  size_t last = kNoBlock;  // the block of the last pin
  const auto add = [&](size_t block, uint64_t bytes) {
    if (bytes == 0) return;
    const LiveBlock& pin = picture.blocks[block];
    if (block != last) pins.push_back({pin.birth, pin.requested_bytes, 0});
    pins.back().bytes += bytes;
    last = block;
  };
  // Holes ascend: the block before one is at most the block after the previous one.
  for (const Hole& hole : find_holes(picture)) {
    const uint64_t before = hole.before == kNoBlock ? 0 : hole.resident_bytes / 2;
    add(hole.before, before);
    add(hole.after, hole.resident_bytes - before);
  }
  return pins;
}

}  // namespace heaptape::replayer
