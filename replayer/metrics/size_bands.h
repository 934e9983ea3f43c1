// The sizes that a program requests, and those alive at one moment, by powers of two: cheap enough
// for a replay to keep. docs/metrics.md, "Sizes and lifetimes".
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace heaptape::replayer {

struct SizeBand {
  uint64_t calls = 0;  // that requested such a size and got it, resizes included
  uint64_t asked_bytes = 0;
  uint64_t live_count = 0;  // now
  uint64_t live_bytes = 0;
  uint64_t kept_count = 0;  // live when keep() was called
  uint64_t kept_bytes = 0;
};

// Band i has the sizes from 2^i bytes up to the next power; 0 counts as 1.
class SizeBands {
 public:
  static constexpr size_t kBands = 64;

  // A block got this size: it was allocated, or resized to it.
  void add(uint64_t size) {
    SizeBand& band = band_of(size);
    ++band.calls;
    band.asked_bytes += size;
    ++band.live_count;
    band.live_bytes += size;
  }
  // A block lost this size: it was freed, or resized.
  void remove(uint64_t size) {
    SizeBand& band = band_of(size);
    --band.live_count;
    band.live_bytes -= size;
  }
  void keep() {
    for (SizeBand& band : bands_) {
      band.kept_count = band.live_count;
      band.kept_bytes = band.live_bytes;
    }
  }

  const std::array<SizeBand, kBands>& bands() const { return bands_; }

 private:
  SizeBand& band_of(uint64_t size) {
    return bands_[static_cast<size_t>(std::bit_width(std::max<uint64_t>(size, 1)) - 1)];
  }

  std::array<SizeBand, kBands> bands_{};
};

}  // namespace heaptape::replayer
