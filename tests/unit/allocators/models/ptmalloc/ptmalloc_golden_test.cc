// A long trace of calls whose addresses were recorded with the real code: the malloc of glibc 2.36
// on x86-64, with and without thread caches.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "allocators/models/ptmalloc/ptmalloc_model.h"

namespace heaptape::allocators {
namespace {

// 256 slots; sizes up to 300,000, so some blocks are mapped at first.
class GoldenTrace {
 public:
  enum Mode { kPlain, kWithAlignedAndZeroed };

  GoldenTrace(Mode mode, const std::string& tcache_count)
      : mode_(mode),
        model_(space_, *base::parse_values("the model", PtmallocModel::parameters(),
                                           {"tcache_count=" + tcache_count})) {}

  uint64_t hash_after(int ops) {
    while (done_ < ops) act();
    return hash_;
  }

  uint64_t arena_bytes_after(int ops) {
    hash_after(ops);
    for (const Counter& counter : model_.counters()) {
      if (counter.name == "arenaBytes") return counter.value;
    }
    return 0;
  }

 private:
  void act() {
    ++done_;
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    const uint64_t size_class = state_ >> 8 & 7;
    const uint64_t limit = size_class == 0 ? 300000 : size_class <= 2 ? 5000 : 600;
    const uint64_t size = 1 + (state_ >> 16 & 0xffffff) % limit;
    uint64_t& slot = slots_[state_ & 255];
    if (slot == 0) {
      slot = note(allocate(size));
    } else if ((state_ >> 40 & 3) == 0) {
      slot = note(model_.reallocate(slot, size));
    } else {
      model_.release(slot);
      slot = 0;
    }
  }

  Placement allocate(uint64_t size) {
    const uint64_t kind = mode_ == kPlain ? 15 : state_ >> 44 & 15;
    if (kind == 0) return model_.allocate(size, uint64_t{32} << (state_ >> 50) % 8);
    return kind == 1 ? model_.allocate_zeroed(size) : model_.allocate(size, 0);
  }

  // The offset into the heap; of a mapped block, its chunk size under a mark.
  uint64_t note(const Placement& block) {
    const uint64_t offset = block.address - PtmallocModel::traits().initial_break;
    const bool mapped = offset >= uint64_t{1} << 40;
    uint64_t word = mapped ? uint64_t{0x4d} << 56 | (block.usable_bytes + 16) : offset;
    for (int i = 0; i < 8; ++i, word >>= 8) {
      hash_ = (hash_ ^ (word & 255)) * 1099511628211u;
    }
    return block.address;
  }

  const Mode mode_;
  AddressSpace space_;
  PtmallocModel model_;
  uint64_t state_ = 88172645463325252;
  uint64_t hash_ = 1469598103934665603u;
  int done_ = 0;
  std::array<uint64_t, 256> slots_{};
};

TEST(PtmallocGoldenTrace, PlacesBlocksAsGlibcWithThreadCaches) {
  GoldenTrace trace(GoldenTrace::kPlain, "7");
  EXPECT_EQ(trace.hash_after(1000), 0x0bcc6dac674deb50u);
  EXPECT_EQ(trace.hash_after(100000), 0x18f419b1b8349c71u);
  EXPECT_EQ(trace.arena_bytes_after(100000), 7139328u);
}

TEST(PtmallocGoldenTrace, PlacesBlocksAsGlibcWithEmptyThreadCaches) {
  GoldenTrace trace(GoldenTrace::kPlain, "0");
  EXPECT_EQ(trace.hash_after(1000), 0x4ac7fcd68c8c4d02u);
  EXPECT_EQ(trace.hash_after(100000), 0xfc08bc39803c32f2u);
  EXPECT_EQ(trace.arena_bytes_after(100000), 5824512u);
}

TEST(PtmallocGoldenTrace, PlacesAlignedAndZeroedBlocksAsGlibcWithThreadCaches) {
  GoldenTrace trace(GoldenTrace::kWithAlignedAndZeroed, "7");
  EXPECT_EQ(trace.hash_after(1000), 0x03785fd19926219du);
  EXPECT_EQ(trace.hash_after(100000), 0x29f3a41e3037babbu);
  EXPECT_EQ(trace.arena_bytes_after(100000), 7000064u);
}

TEST(PtmallocGoldenTrace, PlacesAlignedAndZeroedBlocksAsGlibcWithEmptyThreadCaches) {
  GoldenTrace trace(GoldenTrace::kWithAlignedAndZeroed, "0");
  EXPECT_EQ(trace.hash_after(1000), 0x25b38545e5f7ee8au);
  EXPECT_EQ(trace.hash_after(100000), 0x507b584446480450u);
  EXPECT_EQ(trace.arena_bytes_after(100000), 5816320u);
}

}  // namespace
}  // namespace heaptape::allocators
