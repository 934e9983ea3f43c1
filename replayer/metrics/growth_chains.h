// Resizes as recorded, and blocks that grew again and again. docs/metrics.md, "Sizes and
// lifetimes".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptape::replayer {

struct Resize {
  uint64_t old_bytes;
  uint64_t new_bytes;
  bool moved;

  // The bytes that had to be copied.
  uint64_t copied_bytes() const {
    if (!moved) return 0;
    return old_bytes < new_bytes ? old_bytes : new_bytes;
  }
};

// The resizes of one block that made it larger; others neither end nor lengthen the chain.
struct GrowthChain {
  uint64_t birth = 0;         // the call that requested the block, from 1
  uint32_t thread = 0;        // that made this call
  uint64_t from_bytes = 0;    // its first size
  uint64_t to_bytes = 0;      // its greatest size
  uint64_t length = 0;        // resizes that made it larger
  uint64_t copied_bytes = 0;  // by all of its resizes
};

// Memory grows with the blocks that are alive and were resized. One thread.
class GrowthChains {
 public:
  static constexpr uint64_t kLeastLength = 2;  // of anything that counts as a chain
  static constexpr size_t kNamed = 10;

  // For a block that was never resized.
  static constexpr uint32_t kNone = 0;

  // For the block that `call` requested. `owner`: the thread that requested it, or resized it last.
  // `chain`: what this returned for the block the last time, or kNone.
  uint32_t on_resize(uint32_t chain, uint64_t call, uint32_t owner, const Resize& resize);
  // The block is gone, and its chain, which is not kNone.
  void on_release(uint32_t chain);
  // After the last call: closes the chains of blocks that are alive.
  void finish();

  // For all resizes that returned a block.
  uint64_t in_place() const { return in_place_; }
  uint64_t moved() const { return moved_; }
  uint64_t moved_bytes() const { return moved_bytes_; }

  // For closed chains: their number, their growths, and the bytes copied.
  uint64_t count() const { return count_; }
  uint64_t growths() const { return growths_; }
  uint64_t copied_bytes() const { return copied_bytes_; }
  // At most kNamed: those that copied most, and the longest, in this order.
  const std::vector<GrowthChain>& costliest() const { return costliest_; }
  const std::vector<GrowthChain>& longest() const { return longest_; }

 private:
  void close(const GrowthChain& chain);

  std::vector<GrowthChain> open_ = std::vector<GrowthChain>(1);  // by number; birth 0: nobody's
  std::vector<uint32_t> unused_;                                 // numbers
  uint64_t in_place_ = 0;
  uint64_t moved_ = 0;
  uint64_t moved_bytes_ = 0;
  uint64_t count_ = 0;
  uint64_t growths_ = 0;
  uint64_t copied_bytes_ = 0;
  std::vector<GrowthChain> costliest_;
  std::vector<GrowthChain> longest_;
};

}  // namespace heaptape::replayer
