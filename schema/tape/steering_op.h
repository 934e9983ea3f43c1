// The calls by which a program steers its allocator, one enumerator for each that is recorded.
// Stored in tapes: values never change. Free of the C++ run-time library, because the interposer
// includes it. See docs/tape-format.md, "Steering".
#pragma once

#include <cstdint>

namespace heaptape::schema {

// Whose call it is.
enum class SteeringFamily : uint8_t { kGlibc, kJemalloc, kMimalloc, kTcmalloc };

enum class SteeringEffect : uint8_t {
  kLasting,    // a setting
  kOnce,       // on the allocator as it is then
  kGivesBack,  // the same: free memory goes to the system, as far as the allocator can do that
};

// X(enumerator, stored value, name in text, family, how many arguments, what it does)
// A mallctl has its name here; the index in that is the first argument.
#define HEAPTAPE_STEERING_OPS(X)                                                           \
  X(kMallopt, 1, "mallopt", kGlibc, 2, kLasting)                                           \
  X(kMallocTrim, 2, "malloc_trim", kGlibc, 1, kGivesBack)                                  \
  X(kArenaPurge, 16, "arena.purge", kJemalloc, 1, kGivesBack)                              \
  X(kArenaDecay, 17, "arena.decay", kJemalloc, 1, kOnce)                                   \
  X(kArenaDirtyDecay, 18, "arena.dirty_decay_ms", kJemalloc, 2, kLasting)                  \
  X(kArenaMuzzyDecay, 19, "arena.muzzy_decay_ms", kJemalloc, 2, kLasting)                  \
  X(kDefaultDirtyDecay, 20, "arenas.dirty_decay_ms", kJemalloc, 1, kLasting)               \
  X(kDefaultMuzzyDecay, 21, "arenas.muzzy_decay_ms", kJemalloc, 1, kLasting)               \
  X(kFlushThreadCache, 22, "thread.tcache.flush", kJemalloc, 0, kOnce)                     \
  X(kEnableThreadCache, 23, "thread.tcache.enabled", kJemalloc, 1, kLasting)               \
  X(kBackgroundThread, 24, "background_thread", kJemalloc, 1, kLasting)                    \
  X(kMimallocCollect, 32, "mi_collect", kMimalloc, 1, kGivesBack)                          \
  X(kMimallocOption, 33, "mi_option_set", kMimalloc, 2, kLasting)                          \
  X(kReleaseFreeMemory, 48, "MallocExtension_ReleaseFreeMemory", kTcmalloc, 0, kGivesBack) \
  X(kReleaseToSystem, 49, "MallocExtension_ReleaseToSystem", kTcmalloc, 1, kGivesBack)     \
  X(kThreadCacheBytes, 50, "tcmalloc.max_total_thread_cache_bytes", kTcmalloc, 1, kLasting)

enum class SteeringOp : uint8_t {
#define HEAPTAPE_STEERING_ENUMERATOR(name, value, text, family, arguments, effect) name = value,
  HEAPTAPE_STEERING_OPS(HEAPTAPE_STEERING_ENUMERATOR)
#undef HEAPTAPE_STEERING_ENUMERATOR
};

struct SteeringInfo {
  const char* name = nullptr;  // null: no such op
  SteeringFamily family = SteeringFamily::kGlibc;
  uint8_t arguments = 0;
  SteeringEffect effect = SteeringEffect::kLasting;

  bool gives_back() const { return effect == SteeringEffect::kGivesBack; }
};

constexpr SteeringInfo steering_info(SteeringOp op) {
  switch (op) {
#define HEAPTAPE_STEERING_CASE(name, value, text, family, arguments, effect) \
  case SteeringOp::name:                                                     \
    return {text, SteeringFamily::family, arguments, SteeringEffect::effect};
    HEAPTAPE_STEERING_OPS(HEAPTAPE_STEERING_CASE)
#undef HEAPTAPE_STEERING_CASE
  }
  return {};
}

// It acts on the thread that makes it, or on the memory of that thread.
constexpr bool is_of_a_thread(SteeringOp op) {
  return op == SteeringOp::kFlushThreadCache || op == SteeringOp::kEnableThreadCache ||
         op == SteeringOp::kMimallocCollect;
}

// A setting of the whole process, which a forked child has from its parent.
constexpr bool is_inherited(SteeringOp op) {
  return steering_info(op).effect == SteeringEffect::kLasting && !is_of_a_thread(op);
}

constexpr bool is_valid_steering_op(uint64_t stored) {
  return stored <= UINT8_MAX && steering_info(static_cast<SteeringOp>(stored)).name != nullptr;
}

}  // namespace heaptape::schema
