// How much of a process's memory is live, by the size of the blocks, after the calls merged so far:
// for `heaptape record --live`.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/address/address_tree.h"
#include "schema/tape/event.h"

namespace heaptape::recorder {

struct LiveTotals {
  uint64_t bytes = 0;  // as the program asked for them
  uint64_t blocks = 0;

  bool operator==(const LiveTotals&) const = default;
};

// Sizes up to 16 bytes, up to 32, 64, and so on.
inline constexpr size_t kSizeBands = 61;
using LiveBands = std::array<LiveTotals, kSizeBands>;
constexpr size_t size_band(uint64_t size) {
  const int width = size == 0 ? 0 : std::bit_width(size - 1);
  return width <= 4 ? 0 : static_cast<size_t>(width) - 4;
}
// The smallest and the greatest size in a band, in bytes.
constexpr uint64_t band_first(size_t band) {
  return band == 0 ? 0 : (uint64_t{8} << band) + 1;
}
constexpr uint64_t band_last(size_t band) {
  return band + 1 == kSizeBands ? UINT64_MAX : uint64_t{16} << band;
}

// Exact as long as every call is merged: a block whose free was lost counts until its address is
// handed out again, and one from before the recording, as a forked child has them, never counts.
// Memory: 4 KiB for each 16 KiB of addresses in which a block begins, at most a quarter of what the
// program has. One thread.
class LiveSizes {
 public:
  // The next call. Its addresses are below base::kAddressLimit.
  void add(const schema::Event& event) {
    if (schema::is_failed(event)) return;
    const bool is_release = schema::op_info(event.op).kind == schema::OpKind::kRelease;
    if (event.freed_address != 0) forget(event.freed_address);
    if (!is_release && event.address != 0) keep(event.address, event.size);
  }

  const LiveBands& bands() const { return bands_; }

 private:
  static constexpr int kGranuleLog2 = 3;
  static constexpr uint16_t kLarge = UINT16_MAX;  // large_ has the size
  struct Leaf {
    uint16_t sizes[base::kLeafSpan >> kGranuleLog2];  // 0: no block begins there; else 1 + its size
  };

  static size_t place_of(uint64_t address) {
    return static_cast<size_t>((address % base::kLeafSpan) >> kGranuleLog2);
  }
  void keep(uint64_t address, uint64_t size) {
    uint16_t& kept = tree_.leaf(address).sizes[place_of(address)];
    if (kept != 0) [[unlikely]]
      forget(address);
    if (size + 1 >= kLarge) {
      large_[address >> kGranuleLog2] = size;
      kept = kLarge;
    } else {
      kept = static_cast<uint16_t>(size + 1);
    }
    LiveTotals& band = bands_[size_band(size)];
    band.bytes += size;
    ++band.blocks;
  }
  void forget(uint64_t address) {
    Leaf* const leaf = tree_.find(address);
    if (leaf == nullptr) return;
    uint16_t& kept = leaf->sizes[place_of(address)];
    if (kept == 0) return;
    const uint64_t size = kept == kLarge ? take_large(address) : kept - uint64_t{1};
    kept = 0;
    LiveTotals& band = bands_[size_band(size)];
    band.bytes -= size;
    --band.blocks;
  }
  uint64_t take_large(uint64_t address);

  base::AddressTree<Leaf> tree_;
  std::unordered_map<uint64_t, uint64_t> large_;  // by granule
  LiveBands bands_{};
};

}  // namespace heaptape::recorder
