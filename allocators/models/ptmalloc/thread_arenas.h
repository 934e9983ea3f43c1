// The arenas of a process, and which thread uses which (glibc 2.36, malloc/arena.c: arena_get2,
// reused_arena).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "allocators/models/ptmalloc/arena.h"

namespace heaptape::allocators::ptmalloc {

// The variables that glibc keeps thread-local.
struct ThreadState {
  Arena* arena = nullptr;        // none before the thread's first call
  ThreadCache* cache = nullptr;  // none before its first use
  std::optional<ThreadCache> cache_storage;
  Chunk cache_chunk = kNoChunk;  // holds the cache itself in glibc
};

class ThreadArenas {
 public:
  // `arena_max` 0: a multiple of `cores`, tested only once there are more than eight, as in glibc.
  ThreadArenas(ProcessMemory& process, uint64_t arena_max, uint64_t cores);

  Arena& main() { return *arenas_.front(); }
  const std::deque<std::unique_ptr<Arena>>& all() const { return arenas_; }
  // By the number of the thread; the reference stays valid.
  ThreadState& thread(uint32_t number);

  // M_ARENA_MAX and M_ARENA_TEST, as the constructor has them. The first limit that was found
  // stays.
  void set_arena_max(uint64_t arenas) { arena_max_ = arenas; }
  void set_arena_test(uint64_t arenas) { arena_test_ = arenas; }

  // The arena of the thread that owns the chunk.
  Arena& owner(Chunk chunk) {
    return is_main(chunk) ? main() : *process_.heaps[heap_of(chunk)].arena;
  }

  // The arena for a thread that has none yet and requests `bytes`. The first thread of all gets the
  // main arena; each further thread gets the arena that became idle last, or a new one while
  // allowed, or the next in a ring.
  Arena& attach(uint64_t bytes);
  // The thread has ended: its cache goes back to the arenas, and its arena may become idle.
  void detach(ThreadState& thread);

 private:
  bool create(uint64_t bytes);
  uint32_t choose(uint64_t bytes);

  ProcessMemory& process_;
  uint64_t arena_max_;
  uint64_t arena_test_ = 8;  // arenas, before there is a limit
  const uint64_t cores_;
  uint64_t limit_ = 0;  // 0 if not yet known
  bool started_ = false;
  // In the order they were made. The ring is main, newest, ..., oldest, main.
  std::deque<std::unique_ptr<Arena>> arenas_;
  std::vector<uint32_t> attached_threads_;  // of each arena
  std::vector<uint32_t> idle_;              // the last is reused first
  uint32_t next_to_use_ = 0;
  std::deque<ThreadState> threads_;
};

}  // namespace heaptape::allocators::ptmalloc
