// What malloc gets to see of gnulib's pagealign_alloc: parameter "via" of scenarios that use it.
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
  static Parameter parameter();

  PagealignCalls(HeapWriter& heap, uint64_t via, uint64_t page_bytes)
      : heap_(heap), via_(static_cast<Via>(via)), page_bytes_(page_bytes) {}

  PageBlock allocate(uint64_t bytes);
  void release(const PageBlock& block);

 private:
  // In the order of the parameter's choices.
  enum class Via : uint64_t { kMemalign, kMalloc, kMmap };
  static constexpr uint64_t kNodeBytes = 24;  // of the list that the mmap and malloc back ends keep

  HeapWriter& heap_;
  Via via_;
  uint64_t page_bytes_;
};

}  // namespace heaptape::scenarios
