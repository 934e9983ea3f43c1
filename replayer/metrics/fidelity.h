// How often a replay put blocks where the recorded run had them. docs/metrics.md, "Fidelity".
#pragma once

#include <cstdint>
#include <unordered_map>

#include "allocators/backend.h"
#include "base/address/pages.h"

namespace heaptape::replayer {

// Compares offsets from the initial program break, because the heap begins somewhere else in every
// process. Blocks outside it lie in the arenas of other threads, if the allocator has any: their
// offsets from the arena's heap are compared, and whether blocks of one such heap share one again.
// Blocks in mappings of their own in both runs say nothing and are not counted.
class Fidelity {
 public:
  // A break of 0: that side has no such heap, and nothing can be compared. An arena's heap begins
  // on a multiple of `arena_heap_bytes`; 0 = there are none.
  Fidelity(uint64_t recorded_break, const allocators::BackendTraits& traits)
      : recorded_break_(recorded_break),
        replayed_break_(traits.initial_break),
        arena_heap_bytes_(traits.arena_heap_bytes) {}

  // For a block that `thread` of the tape made. The first thread has the heap for its arena.
  void compare(uint64_t event, uint32_t thread, uint64_t recorded_address,
               const allocators::Placement& replayed) {
    if (recorded_break_ == 0 || replayed_break_ == 0) return;
    const uint64_t recorded_offset = recorded_address - recorded_break_;
    const uint64_t replayed_offset = replayed.address - replayed_break_;
    if (recorded_offset < allocators::kHeapSpanBytes ||
        replayed_offset < allocators::kHeapSpanBytes) [[likely]] {
      count(event, recorded_offset == replayed_offset);
    } else if (thread != 0 && arena_heap_bytes_ != 0 && recorded_address > recorded_break_ &&
               replayed.address > replayed_break_ && !may_be_mapped(recorded_address, replayed)) {
      count(event, recorded_address % arena_heap_bytes_ == replayed.address % arena_heap_bytes_ &&
                       is_same_heap(recorded_address / arena_heap_bytes_,
                                    replayed.address / arena_heap_bytes_));
    }
  }

  // Counts anew; heaps that belong together still do.
  void begin_range() { compared_ = same_ = first_difference_ = 0; }

  uint64_t compared() const { return compared_; }
  uint64_t first_difference() const { return first_difference_; }  // call from 1; 0 = none
  double same_share() const {
    return compared_ == 0 ? 0 : static_cast<double>(same_) / static_cast<double>(compared_);
  }

 private:
  // Half of glibc's initial M_MMAP_THRESHOLD: an aligned block is cut out of a larger one. A block
  // with a mapping of its own begins 16 bytes into a page, or at a page if it is aligned.
  static constexpr uint64_t kMappedBytes = 64 << 10;
  static bool may_be_mapped(uint64_t recorded_address, const allocators::Placement& replayed) {
    const uint64_t in_page = recorded_address % base::kPageBytes;
    return replayed.usable_bytes >= kMappedBytes ||
           ((in_page == 0 || in_page == 16) && replayed.address % base::kPageBytes == in_page);
  }
  // Two heaps belong together if the first block of each was the same.
  bool is_same_heap(uint64_t recorded, uint64_t replayed) {
    return heaps_.emplace(recorded, replayed).first->second == replayed;
  }
  void count(uint64_t event, bool is_same) {
    ++compared_;
    if (is_same) {
      ++same_;
    } else if (first_difference_ == 0) {
      first_difference_ = event;
    }
  }

  uint64_t recorded_break_;
  uint64_t replayed_break_;
  uint64_t arena_heap_bytes_;
  std::unordered_map<uint64_t, uint64_t> heaps_;  // of arenas: of the recorded run, of the replay
  uint64_t compared_ = 0;
  uint64_t same_ = 0;
  uint64_t first_difference_ = 0;
};

}  // namespace heaptape::replayer
