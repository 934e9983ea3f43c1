// heaptape-worker FD: replays batches on whatever malloc it was started with. The heap under test
// holds the tape's blocks and nothing of ours: this program allocates nothing, uses no stdio, and
// links no C++ run-time library, whose start-up pool alone would put 72,704 bytes into the heap.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "allocators/native/worker/parked_threads.h"
#include "allocators/native/worker/worker_clock.h"
#include "allocators/native/worker/worker_heap_calls.h"
#include "allocators/native/worker/worker_ops.h"
#include "allocators/native/worker/worker_protocol.h"
#include "allocators/native/worker/worker_threads.h"
#include "allocators/native/worker/worker_traps.h"

namespace heaptape::allocators {
namespace {

constexpr int kSpins = 4000;

WorkerShared* shared = nullptr;

[[noreturn]] void quit(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

void name_provider() {
  Dl_info of_malloc = {};
  Dl_info of_libc = {};
  if (dladdr(reinterpret_cast<void*>(malloc), &of_malloc) == 0 || of_malloc.dli_fname == nullptr) {
    return;
  }
  strncpy(shared->provider, of_malloc.dli_fname, kProviderPathBytes - 1);
  const char* const missing = find_calls_of_ops(of_malloc.dli_fbase);
  find_heap_calls(of_malloc.dli_fbase);
  if (missing != nullptr) strncpy(shared->missing, missing, kFunctionNameBytes - 1);
  dladdr(reinterpret_cast<void*>(write), &of_libc);
  shared->libc_serves_malloc = of_malloc.dli_fbase == of_libc.dli_fbase;
}

void give_turn() {
  give_turn_to_backend();
  syscall(SYS_futex, &shared->turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

Turn await_turn() {
  for (int spin = 0; spin < kSpins; ++spin) {
    const Turn turn = shared->turn.load(std::memory_order_acquire);
    if (turn != Turn::kBackend) return turn;
    _mm_pause();
  }
  for (;;) {
    const Turn turn = shared->turn.load(std::memory_order_acquire);
    if (turn != Turn::kBackend) return turn;
    syscall(SYS_futex, &shared->turn, FUTEX_WAIT, Turn::kBackend, nullptr, nullptr, 0);
  }
}

uint64_t page_faults() {
  rusage usage = {};
  syscall(SYS_getrusage, RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_minflt);
}

// Moves the program break up to the next address with that phase; the memory before it is never
// used. Returns the new break.
uint64_t move_break(uint64_t phase) {
  const auto at = static_cast<uint64_t>(syscall(SYS_brk, 0));
  const uint64_t step = (phase - at) % kBreakPeriodBytes;
  return static_cast<uint64_t>(syscall(SYS_brk, at + step));
}

// Runs before the constructors of any library, including the allocator, so that memory taken there
// is seen. (Only an executable's preinit functions come that early.)
void before_constructors(int argc, char** argv, char** environment) {
  if (argc != 2) quit(2);
  const int fd = atoi(argv[1]);
  void* base = mmap(nullptr, sizeof(WorkerShared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) quit(2);
  close(fd);
  shared = static_cast<WorkerShared*>(base);
  if (shared->magic != kWorkerMagic) quit(2);
  shared->initial_break = move_break(shared->break_phase);
  if (!start_ops(shared)) quit(2);
  char** auxiliary = environment;
  while (*auxiliary != nullptr) ++auxiliary;
  start_threads(shared);
  start_clock(shared, reinterpret_cast<unsigned long*>(auxiliary + 1));
  if (!watch_memory_calls(shared, &shared->current_op)) shared->failure = WorkerFailure::kNoSeccomp;
}

__attribute__((section(".preinit_array"),
               used)) void (*const preinit)(int, char**, char**) = before_constructors;

}  // namespace
}  // namespace heaptape::allocators

int main() {
  using namespace heaptape::allocators;
  name_provider();
  if (shared->libc_serves_malloc != 0 && !watch_madvise()) {
    shared->failure = WorkerFailure::kNoSeccomp;
  }
  shared->stamp_cost_ticks = measure_stamp_cost();
  shared->can_borrow = can_borrow();
  give_turn();
  for (;;) {
    switch (await_turn()) {
      case Turn::kRun:
        shared->page_faults = page_faults();
        run_batch();
        shared->page_faults = page_faults() - shared->page_faults;
        break;
      case Turn::kDescribe:
        read_mallinfo(*shared);
        break;
      case Turn::kSteer:
        steer();
        break;
      case Turn::kGiveBack:
        give_back();
        break;
      case Turn::kSayMore:
        shared->statistic_count = read_statistics(shared->statistics);
        read_version(shared->version);
        break;
      default:
        exit(0);  // as programs do: the library under test may print something
    }
    give_turn();
  }
}
