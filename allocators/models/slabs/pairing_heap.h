// A priority queue of extents whose links are in the extents, so that it allocates nothing: the
// pairing heap of Fredman, Sedgewick, Sleator and Tarjan (1986), with a list of extents inserted
// since the root was last asked for. Follows ph.h of jemalloc 5.3.0 (there edata_heap), with its
// defect: first() need not be the first. A root without children is replaced by the next of the
// list, which may be any; an extent inserted later that precedes it becomes the root above all of
// them. (Fixed in 5.3.1, commit 10d71315.) With a correct heap instead, blocks part from jemalloc's
// after some 10,000 calls.
#pragma once

#include <cstdint>

#include "allocators/models/slabs/extent.h"

namespace heaptape::allocators::slabs {

// Ordered by Extent::before(), which must not change for an extent while it is in the heap. Extents
// are not owned.
class PairingHeap {
 public:
  bool empty() const { return root_ == nullptr; }
  // Null if it is empty.
  Extent* first();
  void insert(Extent& extent);
  // `extent` must be in the heap.
  void remove(Extent& extent);

 private:
  void take_in_list();
  void meld_pairs(int times);

  Extent* root_ = nullptr;  // its siblings are the list
  uint64_t listed_ = 0;     // inserted since; not lowered by removals
};

}  // namespace heaptape::allocators::slabs
