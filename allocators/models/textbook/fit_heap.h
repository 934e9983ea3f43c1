// A sequential-fit heap: a free list searched by a policy, boundary tags that join neighbors as
// soon as a block is freed, a segment that grows when no hole is large enough. A block is taken
// from the low end of its hole.
//
//   FitHeap --+-- FitPolicy (FirstFit, NextFit, BestFit) -- HoleTree
//             +-- BoundaryTags -- WordTable
//             +-- HeapSegment -- AddressSpace
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/growth_log.h"
#include "allocators/models/textbook/block_shape.h"
#include "allocators/models/textbook/boundary_tags.h"
#include "allocators/models/textbook/fit_policies.h"
#include "allocators/models/textbook/textbook_model.h"

namespace heaptape::allocators::textbook {

template <FitPolicy Policy>
class FitHeap {
 public:
  FitHeap(AddressSpace& space, const base::Values& options)
      : shape_(options),
        segment_(space, options["grow_bytes"]),
        trim_bytes_(options["trim"]),
        end_(shape_.first_block()) {}

  static std::vector<base::Parameter> parameters();
  static BackendTraits traits() { return {.min_hole_bytes = BlockShape::kLeastBlockBytes}; }
  static const char* work_unit() { return "holes examined"; }

  // As TextbookHeap says.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  bool try_resize_in_place(uint64_t address, uint64_t bytes);
  void release(uint64_t address);
  uint64_t usable_bytes(uint64_t address) const {
    return tags_.bytes(address) - shape_.header_bytes();
  }
  uint64_t work() const { return search_steps_; }
  // Search work against the length of the list walked, which the number of live blocks does not
  // show.
  std::vector<GrowthCurve> growth() const {
    return {search_log_.curve("search", work_unit(), "free-list length")};
  }
  void append_counters(std::vector<Counter>& counters) const;

 private:
  Hole grow(uint64_t bytes);
  void take(Hole hole, uint64_t address, uint64_t bytes);
  Hole join(Hole freed);
  void trim(Hole last);
  Hole hole_behind(uint64_t end) const { return end == end_ ? Hole{} : tags_.hole_at(end); }
  Hole hole_before(uint64_t address) const {
    return address == shape_.first_block() ? Hole{} : tags_.hole_before(address);
  }

  BlockShape shape_;
  HeapSegment segment_;
  BoundaryTags tags_;
  Policy policy_;
  uint64_t trim_bytes_;  // 0: never trim
  uint64_t end_;         // of the last block
  GrowthLog search_log_;
  uint64_t searches_ = 0;
  uint64_t search_steps_ = 0;
  uint64_t splits_ = 0;
  uint64_t merges_ = 0;
};

extern template class FitHeap<FirstFit>;
extern template class FitHeap<NextFit>;
extern template class FitHeap<BestFit>;

}  // namespace heaptape::allocators::textbook

namespace heaptape::allocators {

using FirstFitModel = textbook::TextbookModel<textbook::FitHeap<textbook::FirstFit>>;
using NextFitModel = textbook::TextbookModel<textbook::FitHeap<textbook::NextFit>>;
using BestFitModel = textbook::TextbookModel<textbook::FitHeap<textbook::BestFit>>;

static_assert(AllocatorModel<FirstFitModel>);
static_assert(AllocatorModel<NextFitModel>);
static_assert(AllocatorModel<BestFitModel>);

}  // namespace heaptape::allocators
