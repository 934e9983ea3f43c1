#include "recorder/interposer/session_map.h"

#include <sys/mman.h>

#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// The words of rings are mapped in groups, so a forked child finds those of the next rings already
// mapped.
constexpr uint32_t kGroupRings = 4;
static_assert(kFirstRings == kGroupRings);  // group 0 is mapped from the beginning

// A child that stays in its parent's pool inherits these together with the mappings.
std::atomic<char*> mapped_blocks[kBlocks] = {};
std::atomic<uint64_t*> mapped_groups[kRings / kGroupRings] = {};
std::atomic<uint32_t> groups_mapped{0};  // none from here on

void unmap(void* part, uint64_t bytes) {
  raw_syscall(SYS_munmap, as_long(part), static_cast<long>(bytes));
}

// The pool's descriptor was closed long ago. But mremap(2) with a length of 0 makes a second
// mapping of the same shared memory, which may be longer. We unmap the bytes before the part.
char* map_range(const SessionView& session, uint64_t begin, uint64_t bytes) {
  const long base = raw_syscall(SYS_mremap, as_long(session.pool().base), 0,
                                static_cast<long>(begin + bytes), MREMAP_MAYMOVE);
  if (base < 0) return nullptr;
  unmap(reinterpret_cast<void*>(base), begin);
  return reinterpret_cast<char*>(base + static_cast<long>(begin));
}

// The part that `mapped` stands for, mapped by the first thread to come.
template <typename T>
T* map_once(std::atomic<T*>& mapped, const SessionView& session, uint64_t begin, uint64_t bytes) {
  T* part = mapped.load(std::memory_order_acquire);
  if (part != nullptr) return part;
  auto* const ours = reinterpret_cast<T*>(map_range(session, begin, bytes));
  if (ours == nullptr || mapped.compare_exchange_strong(part, ours)) return ours;
  unmap(ours, bytes);  // another thread was faster
  return part;
}

// Puts private memory in its place: lists of locks go through these parts.
void cover(void* part, uint64_t bytes) {
  const long base =
      raw_syscall(SYS_mmap, as_long(part), static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (base < 0) unmap(part, bytes);
}

template <typename T>
void give_up(std::atomic<T*>& mapped, uint64_t bytes, void (*how)(void* part, uint64_t bytes)) {
  T* const part = mapped.load(std::memory_order_relaxed);
  if (part == nullptr) return;
  how(part, bytes);
  mapped.store(nullptr, std::memory_order_relaxed);
}

}  // namespace

PoolPart* map_part(const SessionView& session, uint32_t index) {
  if (index < kFirstParts || session.is_whole()) return &session.part(index);
  const uint32_t number = index / kBlockParts;
  char* const block =
      map_once(mapped_blocks[number], session, kBlocksOffset + number * kBlockBytes, kBlockBytes);
  return block != nullptr ? &SessionView::part_in(block, index) : nullptr;
}

uint64_t* map_ring_words(const SessionView& session, uint32_t index) {
  if (index < kFirstRings || session.is_whole()) return session.words(index);
  const uint32_t group = index / kGroupRings;
  uint32_t mapped = groups_mapped.load(std::memory_order_relaxed);
  while (mapped <= group && !groups_mapped.compare_exchange_weak(mapped, group + 1)) {
  }
  uint64_t* const words = map_once(mapped_groups[group], session, words_offset(group * kGroupRings),
                                   kGroupRings * kRingBytes);
  return words != nullptr ? words + uint64_t{index % kGroupRings} * kRingWords : nullptr;
}

void give_up_pool(const SessionView& session) {
  for (std::atomic<char*>& block : mapped_blocks) give_up(block, kBlockBytes, cover);
  for (uint32_t group = 0; group < groups_mapped; ++group) {
    give_up(mapped_groups[group], kGroupRings * kRingBytes, unmap);
  }
  groups_mapped = 0;
  cover(session.pool().base, kFirstWordsOffset);
  unmap(session.pool().base + kFirstWordsOffset, kJoinBytes - kFirstWordsOffset);
}

}  // namespace heaptape::recorder
