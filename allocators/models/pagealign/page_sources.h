// Where pagealign_alloc gets its memory: the three back ends of gnulib's lib/pagealign_alloc.c for
// POSIX systems (2005 to 2025-09), one of which is built into a program.
//
// take(bytes, alignment)  `alignment` is a page or a larger power of two. gnulib knows pages
//                           only; for more, each back end does the same with the larger multiple.
//   give_back(address, block)
//   append_counters(list)   appends its own
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/models/any_model/any_model.h"
#include "allocators/models/free_extents.h"
#include "allocators/models/pagealign/page_blocks.h"

namespace heaptape::allocators::pagealign {

struct PageMemory {
  uint64_t address = 0;  // 0 if there is no room
  uint64_t usable_bytes = 0;
  uint64_t origin = 0;  // as PageBlock says
};

// One anonymous mapping per block. The system refuses one of 0 bytes. We choose which free
// addresses it takes, which affects only addresses: the tightest stretch, the lowest of equals.
class MappedPages {
 public:
  MappedPages(AddressSpace& space, AnyModel& base);

  PageMemory take(uint64_t bytes, uint64_t alignment);
  void give_back(uint64_t address, const PageBlock& block);
  void append_counters(std::vector<Counter>& list) const;

 private:
  AddressSpace& space_;
  FreeExtents unmapped_;
  uint64_t maps_ = 0;
  uint64_t unmaps_ = 0;
  uint64_t pages_mapped_ = 0;
};

// malloc with one byte less than a page added to the request, rounded up to the next page.
class PaddedPages {
 public:
  PaddedPages(AddressSpace&, AnyModel& base) : base_(base) {}

  PageMemory take(uint64_t bytes, uint64_t alignment);
  void give_back(uint64_t, const PageBlock& block) { base_.release(block.origin); }
  void append_counters(std::vector<Counter>&) const {}

 private:
  AnyModel& base_;
};

// posix_memalign.
class AlignedPages {
 public:
  AlignedPages(AddressSpace&, AnyModel& base) : base_(base) {}

  PageMemory take(uint64_t bytes, uint64_t alignment);
  void give_back(uint64_t address, const PageBlock&) { base_.release(address); }
  void append_counters(std::vector<Counter>&) const {}

 private:
  AnyModel& base_;
};

}  // namespace heaptape::allocators::pagealign
