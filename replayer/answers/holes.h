// The holes of a heap, the blocks that pin them, and what would come back without the blocks.
// docs/metrics.md, "Holes and pins".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replayer/heap_map/heap_picture.h"
#include "replayer/heap_map/unseen_memory.h"

namespace heaptape::replayer {

inline constexpr size_t kNoBlock = SIZE_MAX;

struct Hole {
  base::AddressRange range;
  uint64_t resident_bytes = 0;
  uint64_t purgeable_bytes = 0;  // of these, in whole pages
  size_t before = kNoBlock;      // the blocks on both sides, in HeapPicture::blocks
  size_t after = kNoBlock;
  UnseenSides unseen = {};  // the hole ends at unseen memory there: no block is known on that side

  bool is_open() const { return unseen.any(); }
};

// Every hole, by address, as defined in docs/metrics.md; tops do not count. Their number is
// HoleStats::count.
std::vector<Hole> find_holes(const HeapPicture& picture);

// The `most` largest of at least `min_bytes`, the largest first.
std::vector<Hole> largest_holes(std::vector<Hole> holes, uint64_t min_bytes, size_t most);

// Resident bytes that become purgeable if this block is freed: whole pages in it and in the free
// memory around it, less what is purgeable now.
uint64_t bytes_behind_pin(const HeapPicture& picture, size_t block);

// Which of the two blocks beside a hole pins it: the one with more free bytes on its other side, or
// the younger one if they are equal. The header of a region is not free.
enum class PinSide : uint8_t { kBefore, kAfter };
struct BesideHole {
  const LiveBlock& block;
  uint64_t free_bytes_beyond;
};
PinSide pin_side(const BesideHole& before, const BesideHole& after);

// The pin of a hole, and the size of the hole without it. An open hole has none: the block beside
// it that holds it may be one that was not seen.
struct Pin {
  size_t block = kNoBlock;  // in HeapPicture::blocks
  uint64_t joined_bytes = 0;
};
Pin pin_of(const HeapPicture& picture, const Hole& hole);

}  // namespace heaptape::replayer
