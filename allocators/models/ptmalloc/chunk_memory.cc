#include "allocators/models/ptmalloc/chunk_memory.h"

#include <sys/mman.h>

#include <new>

namespace heaptape::allocators::ptmalloc {

// Address space only: memory is used only once a slot is opened and written to.
ChunkMemory::ChunkMemory() {
  void* const cells = mmap(nullptr, kSlots * kSlotBytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (cells == MAP_FAILED) throw std::bad_alloc();
  cells_ = static_cast<Cell*>(cells);
  open_slot(0);
}

ChunkMemory::~ChunkMemory() {
  munmap(cells_, kSlots * kSlotBytes);
}

void ChunkMemory::open_slot(uint32_t slot) {
  Cell* const begin = cells_ + (size_t{slot} << kHeapUnitsLog2);
  if (mprotect(begin, kSlotBytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  open_[slot] = true;
}

}  // namespace heaptape::allocators::ptmalloc
