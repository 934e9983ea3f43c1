// How much of a process's memory is live, by the size of the blocks, after the calls merged so far:
// for `heaptape record --live`.
#pragma once

#include <algorithm>
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

// Exact as long as every call is merged: a block whose free was lost counts until another begins
// where it did, and one from before the recording, as a forked child has them, never counts.
// Memory: 4 KiB for each 32 KiB of addresses in which a small block begins, and a fifth of that for
// the others: at most a seventh of what the program has. One thread.
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
  // Blocks begin on multiples of 8. Small ones have a byte for each, the others a word for each 256
  // bytes, in which only one of them can begin: so the tables of most heaps stay in the cache.
  static constexpr int kGranuleLog2 = 3;
  static constexpr int kWordSpanLog2 = 8;
  static constexpr uint64_t kLargestSmall = 253;
  static constexpr int kPlaceBits = kWordSpanLog2 - kGranuleLog2;
  static constexpr uint32_t kHuge = UINT32_MAX >> kPlaceBits;  // huge_ has the size
  struct Leaf {
    uint8_t small[base::kLeafSpan >> kGranuleLog2];    // 0: none begins there; else 1 + its size
    uint32_t large[base::kLeafSpan >> kWordSpanLog2];  // 0: none; else its size, and its place

    uint8_t& small_at(uint64_t address) {
      return small[(address % base::kLeafSpan) >> kGranuleLog2];
    }
    uint32_t& large_near(uint64_t address) {
      return large[(address % base::kLeafSpan) >> kWordSpanLog2];
    }
  };

  static uint32_t place_in_word(uint64_t address) {
    return static_cast<uint32_t>(address >> kGranuleLog2) & ((1u << kPlaceBits) - 1);
  }
  void count(uint64_t size) {
    LiveTotals& band = bands_[size_band(size)];
    band.bytes += size;
    ++band.blocks;
  }
  void discount(uint64_t size) {
    LiveTotals& band = bands_[size_band(size)];
    band.bytes -= size;
    --band.blocks;
  }
  void keep(uint64_t address, uint64_t size) {
    Leaf& leaf = tree_.leaf(address);
    forget(leaf, address);
    count(size);
    if (size <= kLargestSmall) {
      leaf.small_at(address) = static_cast<uint8_t>(size + 1);
    } else {
      keep_large(leaf.large_near(address), address, size);
    }
  }
  void forget(uint64_t address) {
    if (Leaf* const leaf = tree_.find(address)) forget(*leaf, address);
  }
  void forget(Leaf& leaf, uint64_t address) {
    uint32_t& large = leaf.large_near(address);
    if (large != 0 && (large & ((1u << kPlaceBits) - 1)) == place_in_word(address)) {
      forget_large(large, address);
      return;
    }
    uint8_t& small = leaf.small_at(address);
    if (small == 0) return;
    discount(small - uint64_t{1});
    small = 0;
  }
  void keep_large(uint32_t& word, uint64_t address, uint64_t size) {
    if (word != 0) [[unlikely]]
      forget_large(word, address);  // its free was lost
    if (size >= kHuge) [[unlikely]]
      huge_[address >> kWordSpanLog2] = size;
    word = static_cast<uint32_t>(std::min<uint64_t>(size, kHuge)) << kPlaceBits |
           place_in_word(address);
  }
  void forget_large(uint32_t& word, uint64_t address) {
    const uint32_t size = word >> kPlaceBits;
    discount(size == kHuge ? take_huge(address) : size);
    word = 0;
  }
  uint64_t take_huge(uint64_t address);

  base::AddressTree<Leaf> tree_;
  std::unordered_map<uint64_t, uint64_t> huge_;  // by address >> kWordSpanLog2
  LiveBands bands_{};
};

}  // namespace heaptape::recorder
