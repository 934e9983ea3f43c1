#include "recorder/interposer/ring_mapping.h"

#include <sys/mman.h>

#include "recorder/interposer/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// Written by whoever owns the ring. A forked child inherits these together with the mappings.
uint64_t* mapped_words[kRings] = {};

}  // namespace

uint64_t* map_ring_words(SessionView session, uint32_t index) {
  if (session.is_whole()) return session.words(index);
  if (mapped_words[index] != nullptr) return mapped_words[index];
  // The session's descriptor was closed long ago. But mremap(2) with a length of 0 makes a second
  // mapping of the same shared memory, which may be longer. We unmap what precedes the ring.
  const uint64_t begin = kRingWordsOffset + index * kRingBytes;
  const long base = raw_syscall(SYS_mremap, as_long(session.base()), 0,
                                static_cast<long>(begin + kRingBytes), MREMAP_MAYMOVE);
  if (base < 0) return nullptr;
  raw_syscall(SYS_munmap, base, static_cast<long>(begin));
  return mapped_words[index] = reinterpret_cast<uint64_t*>(base + static_cast<long>(begin));
}

}  // namespace heaptape::recorder
