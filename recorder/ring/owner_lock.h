// The owner of a process slot or a ring, and whether it lives: a robust futex, as described in
// get_robust_list(2). The kernel marks it when the thread that holds it ends, by exit, signal or
// exec, whatever the pid namespaces. Free of the C++ run-time library.
#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

// Laid out like glibc's robust mutexes (nptl, since 2.4), because a thread has one list of them, in
// which the futex word must lie at one distance from the entry. The pointers are addresses in the
// owner's process: nobody else uses them.
struct OwnerLock {
  std::atomic<uint32_t> word;  // 0: free; else the owner's thread id, or one of the values below
  uint32_t padding[5];
  void* previous;
  void* next;
};
static_assert(sizeof(OwnerLock) == 40);

inline constexpr long kFutexOffset =
    static_cast<long>(offsetof(OwnerLock, word)) - static_cast<long>(offsetof(OwnerLock, next));

// The owner is a thread that the kernel does not watch: a number that no thread has.
inline constexpr uint32_t kUnwatchedOwner = FUTEX_TID_MASK;

enum class OwnerState : uint8_t { kNone, kLives, kDead };

// An unwatched owner's state is unknown: it counts as living.
inline OwnerState owner_state(const OwnerLock& lock) {
  const uint32_t word = lock.word.load(std::memory_order_acquire);
  if (word == 0) return OwnerState::kNone;
  return (word & FUTEX_OWNER_DIED) != 0 ? OwnerState::kDead : OwnerState::kLives;
}

}  // namespace heaptape::recorder
