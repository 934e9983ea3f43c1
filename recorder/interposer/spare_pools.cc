// The pools of the children that this process forks. docs/decisions/0042-pools.md.
//
// Each child that libc forks begins in a pool that none of its siblings maps, and its parent no
// longer, so it cannot spoil their tapes. Its pool is there already when it is forked: it needs no
// connection, which it might not be able to make. Children that a bare system call forks stay in
// the pool of their parent.
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "recorder/interposer/attach.h"
#include "recorder/interposer/handshake_client.h"
#include "recorder/interposer/hook_scope.h"
#include "recorder/interposer/patience.h"
#include "recorder/interposer/producer.h"
#include "recorder/interposer/session_map.h"
#include "recorder/ring/raw_syscall.h"

// glibc has the one, musl the other.
extern "C" __attribute__((weak)) int __register_atfork(void (*prepare)(), void (*parent)(),
                                                       void (*child)(), void* library);
extern "C" __attribute__((weak)) int pthread_atfork(void (*prepare)(), void (*parent)(),
                                                    void (*child)());

namespace heaptape::recorder {
namespace {

constexpr uint32_t kYields = 100;
// Longer than who has the turn can wait for the recorder.
constexpr uint32_t kNaps = kLongPatienceMs + 2 * kPatienceMs;

constexpr uint64_t signal_bits(std::initializer_list<int> signals) {
  uint64_t bits = 0;
  for (const int signal : signals) bits |= uint64_t{1} << (signal - 1);
  return bits;
}
// But for those by which the processor stops a thread, which kill it if they are blocked, and
// those with which libc reaches each thread, as setuid(2) does.
constexpr uint64_t kHeldBack =
    ~signal_bits({SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, 32, 33});

// A forked child has none of its parent's: these are clear, and the pages not mapped there.
struct Spares {
  // One thread forks at a time, and no signal handler interrupts it, so that no child gets what is
  // another's: pools, or descriptors. Others wait, but not for ever.
  std::atomic<bool> is_taken;
  uint32_t left;        // of these
  uint32_t last_fetch;  // how many
  PoolView pools[kMostSpares];
};
static_assert(sizeof(Spares) <= kClearedBytes);

Spares& spares() {
  return *static_cast<Spares*>(memory_that_forks_clear());
}

bool take_turn(Spares& spares) {
  for (uint32_t i = 0; spares.is_taken.exchange(true); ++i) {
    if (i >= kYields + kNaps) return false;
    if (i < kYields) {
      raw_syscall(SYS_sched_yield);
    } else {
      nap_ms();
    }
  }
  return true;
}

bool records() {
  return process.recording && !process.quiet && !session_is_over();
}

// Twice as many each time: most programs fork no child, or one, and some fork thousands.
void fetch(Spares& spares) {
  const uint32_t progress = process.session.board().progress;
  if (process.waited_in_vain_at == progress) return;
  spares.last_fetch = std::clamp(2 * spares.last_fetch, 1u, kMostSpares);
  const uint64_t begin_ns = kernel_clock_ns();
  spares.left = fetch_spare_pools(spares.pools, spares.last_fetch);
  const bool has_waited = kernel_clock_ns() - begin_ns >= uint64_t{kPatienceMs} * 1'000'000;
  if (spares.left == 0 && has_waited) process.waited_in_vain_at = progress;
}

// For the next child; nothing if there is none.
PoolView take_next(Spares& spares) {
  if (spares.left == 0) fetch(spares);
  if (spares.left == 0) return {};
  const PoolView next = spares.pools[--spares.left];
  raw_syscall(SYS_madvise, as_long(next.base), kPageBytes, MADV_DOFORK);
  return next;
}

// So the child's heap has its place among the calls of this process. False if it cannot: a process
// that made no call has no slot, and the heap of its parent.
bool mark_fork(const PoolView& childs_pool) {
  if (childs_pool.base == nullptr || !has_own_slot()) return false;
  const HookScope scope;
  if (!scope.nested()) record_fork(childs_pool.number);
  return !scope.nested();
}

void unmap_page(const PoolView& pool) {
  if (pool.base != nullptr) raw_syscall(SYS_munmap, as_long(pool.base), kPageBytes);
}

// Not again by a fork in another library's handler.
void begin_fork() {
  if (thread_local_state.forks) return;
  thread_local_state.fork_is_marked = false;
  if (!records()) return;
  if (process.session.board().follow == Follow::kNone) return;
  uint64_t before = 0;
  set_blocked_signals(kHeldBack, &before);
  Spares& own = spares();
  if (!take_turn(own)) {
    set_blocked_signals(before, nullptr);
    return;
  }
  thread_local_state.forks = true;
  thread_local_state.blocked_before_fork = before;
  thread_local_state.childs_pool = take_next(own);
  thread_local_state.fork_is_marked = mark_fork(thread_local_state.childs_pool);
}

PoolView take_childs_pool() {
  const PoolView pool = thread_local_state.childs_pool;
  thread_local_state.childs_pool = {};
  return pool;
}

void end_turn() {
  if (!thread_local_state.forks) return;
  thread_local_state.forks = false;
  spares().is_taken = false;
  set_blocked_signals(thread_local_state.blocked_before_fork, nullptr);
}

void end_fork() {
  unmap_page(take_childs_pool());
  end_turn();
}

// Whether it did.
bool move_in(PoolView pool) {
  if (pool.base == nullptr) return false;
  const long base =
      raw_syscall(SYS_mremap, as_long(pool.base), kPageBytes, kJoinBytes, MREMAP_MAYMOVE);
  if (base < 0) return false;
  const SessionView parents = process.session;
  pool.base = reinterpret_cast<char*>(base);
  process.session.set_pool(pool);
  give_up_pool(parents);
  return true;
}

// A child that has joined already, in the handler of a library that came first, stays where it is.
void begin_child() {
  const PoolView pool = take_childs_pool();
  if (std::exchange(thread_local_state.fork_is_marked, false)) process.fork = pool.number;
  const bool is_free = records() && !has_own_slot();
  if (is_free && process.session.board().follow == Follow::kNone) {
    detach_process();
    give_up_pool(process.session);
  } else if (!is_free || !move_in(pool)) {
    unmap_page(pool);
  }
  end_turn();
}

// Before the program runs, because libc takes a lock, and might allocate memory.
__attribute__((constructor)) void watch_forks() {
  if (&__register_atfork != nullptr) {
    __register_atfork(begin_fork, end_fork, begin_child, nullptr);
  } else if (&pthread_atfork != nullptr) {
    pthread_atfork(begin_fork, end_fork, begin_child);
  }
}

}  // namespace
}  // namespace heaptape::recorder
