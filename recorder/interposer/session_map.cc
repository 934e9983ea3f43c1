#include "recorder/interposer/session_map.h"

#include <sys/mman.h>

#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// The words of rings are mapped in groups, so a forked child finds those of the next rings already
// mapped.
constexpr uint32_t kGroupRings = 4;

// A forked child inherits these together with the mappings.
std::atomic<char*> mapped_blocks[kBlocks] = {};
std::atomic<uint64_t*> mapped_groups[kRings / kGroupRings] = {};

// The session's descriptor was closed long ago. But mremap(2) with a length of 0 makes a second
// mapping of the same shared memory, which may be longer. We unmap the bytes before the part.
char* map_part(SessionView session, uint64_t begin, uint64_t bytes) {
  const long base = raw_syscall(SYS_mremap, as_long(session.base()), 0,
                                static_cast<long>(begin + bytes), MREMAP_MAYMOVE);
  if (base < 0) return nullptr;
  raw_syscall(SYS_munmap, base, static_cast<long>(begin));
  return reinterpret_cast<char*>(base + static_cast<long>(begin));
}

// The part that `mapped` stands for, mapped by the first thread to come.
template <typename T>
T* map_once(std::atomic<T*>& mapped, SessionView session, uint64_t begin, uint64_t bytes) {
  T* part = mapped.load(std::memory_order_acquire);
  if (part != nullptr) return part;
  auto* const ours = reinterpret_cast<T*>(map_part(session, begin, bytes));
  if (ours == nullptr || mapped.compare_exchange_strong(part, ours)) return ours;
  raw_syscall(SYS_munmap, as_long(ours), static_cast<long>(bytes));  // another thread was faster
  return part;
}

}  // namespace

char* map_block(SessionView session, uint32_t index) {
  if (index == 0 || session.is_whole()) return session.block(index);
  return map_once(mapped_blocks[index], session, kBlocksOffset + index * kBlockBytes, kBlockBytes);
}

uint64_t* map_ring_words(SessionView session, uint32_t index) {
  if (session.is_whole()) return session.words(index);
  const uint32_t group = index / kGroupRings;
  uint64_t* const words =
      map_once(mapped_groups[group], session, kRingWordsOffset + group * kGroupRings * kRingBytes,
               kGroupRings * kRingBytes);
  return words != nullptr ? words + uint64_t{index % kGroupRings} * kRingWords : nullptr;
}

}  // namespace heaptape::recorder
