// Lets the worker see every system call by which the allocator under test changes its address
// space, whoever issues it: libc internally, the library through libc, or by itself.
#pragma once

#include <sys/types.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// From now on mmap, munmap, mremap, mprotect and brk are stopped by a seccomp filter, carried out
// by a SIGSYS handler and written to `shared->calls` under the op `*current_op`. About 1.5 us a
// call. False when the kernel refuses. Any thread may make such calls; those of the allocator's own
// threads wait while it is the backend's turn.
bool watch_memory_calls(WorkerShared* shared, const uint32_t* current_op);

// The same for madvise, from now on, as long as the log has room; behind that it only says that
// there were such calls. Not where the allocator has threads of its own: one that ends gives its
// stack back by madvise with all signals blocked (glibc 2.36, start_thread), and the kernel would
// end the process.
bool watch_madvise();

// What gettid() says to the driver from now on: the thread that it pretends to be. 0: the truth.
void pretend_tid(pid_t tid);

// The driver gives its turn away: no thread is in the middle of the log.
void give_turn_to_backend();

// Memory of the worker's own, not watched; at `wish` if nothing else is there. Null: there is none.
void* map_unwatched(uint64_t wish, uint64_t bytes, int protection);

// A system call that is not watched: for the worker's own memory.
long unwatched_syscall(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0,
                       long f = 0);

}  // namespace heaptape::allocators
