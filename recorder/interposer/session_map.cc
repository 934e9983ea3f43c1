#include "recorder/interposer/session_map.h"

#include <sys/mman.h>

#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// A forked child inherits these together with the mappings.
std::atomic<char*> mapped_blocks[kBlocks] = {};
uint64_t* mapped_words[kRings] = {};  // each written by whoever owns the ring

// The session's descriptor was closed long ago. But mremap(2) with a length of 0 makes a second
// mapping of the same shared memory, which may be longer. We unmap what precedes the part.
char* map_part(SessionView session, uint64_t begin, uint64_t bytes) {
  const long base = raw_syscall(SYS_mremap, as_long(session.base()), 0,
                                static_cast<long>(begin + bytes), MREMAP_MAYMOVE);
  if (base < 0) return nullptr;
  raw_syscall(SYS_munmap, base, static_cast<long>(begin));
  return reinterpret_cast<char*>(base + static_cast<long>(begin));
}

}  // namespace

char* map_block(SessionView session, uint32_t index) {
  if (index == 0 || session.is_whole()) return session.block(index);
  char* block = mapped_blocks[index].load(std::memory_order_acquire);
  if (block != nullptr) return block;
  char* const mapped = map_part(session, kBlocksOffset + index * kBlockBytes, kBlockBytes);
  if (mapped == nullptr || mapped_blocks[index].compare_exchange_strong(block, mapped)) {
    return mapped;
  }
  raw_syscall(SYS_munmap, as_long(mapped), kBlockBytes);  // another thread was faster
  return block;
}

uint64_t* map_ring_words(SessionView session, uint32_t index) {
  if (session.is_whole()) return session.words(index);
  if (mapped_words[index] == nullptr) {
    mapped_words[index] = reinterpret_cast<uint64_t*>(
        map_part(session, kRingWordsOffset + index * kRingBytes, kRingBytes));
  }
  return mapped_words[index];
}

}  // namespace heaptape::recorder
