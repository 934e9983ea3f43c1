// What every interposed function begins with.
#pragma once

#include "recorder/interposer/entry_points.h"
#include "recorder/interposer/producer.h"

#define HEAPTAPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace heaptape::recorder {

// Around each call to the real allocator. Calls that the allocator makes inside it are forwarded
// and counted, not recorded. Not for functions that may throw.
class HookScope {
 public:
  HookScope() : nested_(thread_local_state.depth != 0) { thread_local_state.depth = 1; }
  ~HookScope() {
    if (!nested_) [[likely]]
      thread_local_state.depth = 0;
  }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

  bool nested() const { return nested_; }

 private:
  const bool nested_;
};

// While it lives, allocations of the thread within a hook come from the bootstrap arena.
class ArenaScope {
 public:
  ArenaScope() { thread_local_state.uses_arena = true; }
  ~ArenaScope() { thread_local_state.uses_arena = false; }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;
};

}  // namespace heaptape::recorder
