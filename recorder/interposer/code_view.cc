#include "recorder/interposer/code_view.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "recorder/interposer/attach.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr uint32_t kUnitLog2 = 20;
constexpr uint64_t kFirstUnits = 4;
constexpr uint64_t kUnitsMask = 4095;  // of a page-aligned address, these bits are 0
static_assert(kCodeFileBytes >> kUnitLog2 <= kUnitsMask);

// How much of the file is mapped, in units, and where: in one word, so that no lock is needed.
// Earlier mappings stay, because other threads may still read there.
std::atomic<uint64_t> window{0};
uint64_t file_bytes = 0;

uint64_t units_of(uint64_t word) {
  return word & kUnitsMask;
}
const char* base_of(uint64_t word) {
  return reinterpret_cast<const char*>(word & ~kUnitsMask);
}

// At least `bytes` bytes of the file, mapped; null if that fails.
const char* map_to(uint64_t bytes) {
  uint64_t word = window.load(std::memory_order_acquire);
  if (bytes > file_bytes) return nullptr;
  if (units_of(word) << kUnitLog2 >= bytes) return base_of(word);
  if (word == 0) return nullptr;
  if (process.quiet.load(std::memory_order_relaxed)) return nullptr;
  uint64_t units = units_of(word);
  while (units << kUnitLog2 < bytes) units *= 2;
  // As in session_map.cc: a length of 0 makes a second mapping, which may be longer.
  const long base = raw_syscall(SYS_mremap, as_long(base_of(word)), 0,
                                static_cast<long>(units << kUnitLog2), MREMAP_MAYMOVE);
  if (base < 0) return nullptr;
  raw_syscall(SYS_madvise, base, static_cast<long>(units << kUnitLog2), MADV_DONTDUMP);
  if (window.compare_exchange_strong(word, static_cast<uint64_t>(base) | units)) {
    return reinterpret_cast<const char*>(base);
  }
  raw_syscall(SYS_munmap, base, static_cast<long>(units << kUnitLog2));  // another won
  return units_of(word) << kUnitLog2 >= bytes ? base_of(word) : nullptr;
}

// Invalidates every reading that began before (recorder/collector/recorded_process.cc).
void forget_late_code_of(ProcessSlot& slot) {
  uint64_t before = slot.code_map.load();
  while (!slot.code_map.compare_exchange_weak(
      before, after_a_close(before, map_offset_of(process.first_code_map)))) {
  }
  slot.code_wanted.fetch_add(1);
}

}  // namespace

void map_code_file(int descriptor) {
  constexpr long kBytes = kFirstUnits << kUnitLog2;
  const long end = raw_syscall(SYS_lseek, descriptor, 0, SEEK_END);
  if (end <= 0) return;
  file_bytes = static_cast<uint64_t>(end);
  const long base =
      raw_syscall(SYS_mmap, 0, kBytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base < 0) return;
  raw_syscall(SYS_madvise, base, kBytes, MADV_DONTDUMP);
  window.store(static_cast<uint64_t>(base) | kFirstUnits, std::memory_order_release);
}

CodeView view_code(uint64_t offset) {
  if (offset == 0 || offset % alignof(CodeMap) != 0 || offset > kCodeFileBytes) return {};
  const char* file = map_to(offset + sizeof(CodeMap));
  if (file == nullptr) return {};
  const auto* map = reinterpret_cast<const CodeMap*>(file + offset);
  const uint64_t bytes = map->file_bytes;
  if (map->magic != kCodeMapMagic || bytes < offset + sizeof(CodeMap) ||
      map->ranges > (bytes - offset - sizeof(CodeMap)) / sizeof(CodeRange)) {
    return {};
  }
  file = map_to(bytes);
  if (file == nullptr) return {};
  return {reinterpret_cast<const CodeMap*>(file + offset), file};
}

void forget_late_code() {
  if (!process.recording.load(std::memory_order_relaxed) || process.first_code_map == 0) return;
  if (has_own_slot()) {
    forget_late_code_of(*process.slot.load());
  } else {
    process.code_map = process.first_code_map;  // of a forked child, which has no slot yet
  }
}

}  // namespace heaptape::recorder
