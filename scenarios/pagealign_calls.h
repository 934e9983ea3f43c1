// The malloc calls that gnulib's pagealign_alloc makes, and the parameter "via" that selects its
// back end.
#pragma once

#include "base/address/pages.h"
#include "scenarios/heap_writer.h"
#include "scenarios/scenario.h"

namespace heaptape::scenarios {

using base::kPageBytes;

// A block of pagealign_alloc on the tape.
struct PageBlock {
  Block memory;
  Block node;
};

class PagealignCalls {
 public:
  // In the order of the parameter's choices.
  enum class Via : uint64_t { kMemalign, kMalloc, kMmap };
  static Parameter parameter();

  PagealignCalls(HeapWriter& heap, Via via, uint64_t page_bytes)
      : heap_(heap), via_(via), page_bytes_(page_bytes) {}

  PageBlock allocate(uint64_t bytes);
  void release(const PageBlock& block);

 private:
  static constexpr uint64_t kNodeBytes = 24;  // a list node of the mmap and malloc back ends

  HeapWriter& heap_;
  Via via_;
  uint64_t page_bytes_;
};

}  // namespace heaptape::scenarios
