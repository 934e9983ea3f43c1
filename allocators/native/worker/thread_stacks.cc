// glibc gives each thread a vector of the places of its thread-local variables (the dtv, two words
// per library), by calloc, that is, by the allocator under test: the tape already has these calls,
// as the recorded program made them. So this program defines the two functions by which libc asks
// its loader for the vector and returns it; the loader finds the executable's definitions first.
// For all threads but ours they act as the loader's own.
// The layout: glibc's sysdeps/generic/dl-dtv.h and sysdeps/x86_64/nptl/tls.h, the same since 2.25.
#include "allocators/native/worker/thread_stacks.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "allocators/native/worker/worker_traps.h"
#include "base/address/pages.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;

struct TlsEntry {
  uint64_t value;   // of the entry before the first: the number of entries
  void* allocated;  // freed with the thread
};
constexpr size_t kTlsEntries = kPageBytes / sizeof(TlsEntry);

struct ThreadHead {  // the thread pointer's target
  void* self;
  TlsEntry* entries;  // its second one
};

// As many as ReplayOp::thread can distinguish.
constexpr uint64_t kStacks = 1 << 16;
// For an allocator's destructors, in addition to what the system needs.
constexpr uint64_t kWorkBytes = 64 << 10;
// Away from the heap, from mappings without a hint, and from those that mimalloc asks for.
constexpr uint64_t kRegion = uint64_t{48} << 40;

// Each slot is a page for the vector and the stack above it. Free slots are linked through their
// first words.
uint64_t region = 0;
uint64_t slot_bytes = 0;
uint64_t used_slots = 0;
void* free_slot = nullptr;

bool is_ours(const void* pointer) {
  const uint64_t at = reinterpret_cast<uint64_t>(pointer);
  return region != 0 && at - region < kStacks * slot_bytes;
}

bool reserve() {
  using MinStack = size_t (*)(const pthread_attr_t*);
  const auto min_stack = reinterpret_cast<MinStack>(dlsym(RTLD_DEFAULT, "__pthread_get_minstack"));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const size_t least =
      min_stack != nullptr ? min_stack(&attributes) : static_cast<size_t>(PTHREAD_STACK_MIN);
  slot_bytes = kPageBytes + base::page_up(least + kWorkBytes);
  region = reinterpret_cast<uint64_t>(map_unwatched(kRegion, kStacks * slot_bytes, PROT_NONE));
  return region != 0;
}

void* next_slot() {
  if (free_slot != nullptr) {
    void* const slot = free_slot;
    memcpy(&free_slot, slot, sizeof free_slot);
    return slot;
  }
  if (region == 0 && !reserve()) return nullptr;
  if (used_slots == kStacks) return nullptr;
  const uint64_t slot = region + used_slots * slot_bytes;
  if (unwatched_syscall(SYS_mprotect, static_cast<long>(slot), static_cast<long>(slot_bytes),
                        PROT_READ | PROT_WRITE) != 0) {
    return nullptr;
  }
  ++used_slots;
  return reinterpret_cast<void*>(slot);
}

template <typename Function>
Function* loaders(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

ThreadStack take_stack() {
  void* const slot = next_slot();
  if (slot == nullptr) return {};
  return {static_cast<char*>(slot) + kPageBytes, slot_bytes - kPageBytes};
}

void give_back_stack(void* base) {
  void* const slot = static_cast<char*>(base) - kPageBytes;
  memcpy(slot, &free_slot, sizeof free_slot);
  free_slot = slot;
}

}  // namespace heaptape::allocators

extern "C" {

__attribute__((visibility("default"))) void* _dl_allocate_tls(void* thread) {
  using namespace heaptape::allocators;
  if (!is_ours(thread)) return loaders<void*(void*)>("_dl_allocate_tls")(thread);
  const uint64_t at = reinterpret_cast<uint64_t>(thread);
  void* const slot = reinterpret_cast<void*>(at - (at - region) % slot_bytes);
  memset(slot, 0, kPageBytes);
  auto* const entries = static_cast<TlsEntry*>(slot);
  entries[0].value = kTlsEntries - 2;
  static_cast<ThreadHead*>(thread)->entries = entries + 1;
  static const auto fill = loaders<void*(void*, bool)>("_dl_allocate_tls_init");
  return fill(thread, true);
}

__attribute__((visibility("default"))) void _dl_deallocate_tls(void* thread, bool with_block) {
  using namespace heaptape::allocators;
  if (!is_ours(thread)) {
    loaders<void(void*, bool)>("_dl_deallocate_tls")(thread, with_block);
    return;
  }
  const TlsEntry* const entries = static_cast<ThreadHead*>(thread)->entries;
  for (uint64_t i = 1; i <= entries[-1].value; ++i) {
    if (entries[i].allocated != nullptr) free(entries[i].allocated);
  }
}

}  // extern "C"
