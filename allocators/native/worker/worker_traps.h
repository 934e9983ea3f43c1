// Lets the worker see every system call that changes the allocator's address space, whoever issues
// it: libc internally, the library through libc, or the library directly.
#pragma once

#include <sys/types.h>

#include "allocators/native/worker/worker_protocol.h"

namespace heaptape::allocators {

// From now on mmap, munmap, mremap, mprotect and brk are stopped by a seccomp filter, carried out
// by a SIGSYS handler and written to `shared->calls` under the op `*current_op`. About 1.5 us a
// call. False if the kernel refuses. Any thread may make such calls; those of the allocator's own
// threads wait while it is the backend's turn.
bool watch_memory_calls(WorkerShared* shared, const uint32_t* current_op);

// The same for madvise while the log has room; beyond that, it records only that there were such
// calls. Not for an allocator with threads of its own: a thread that ends gives its stack back by
// madvise with all signals blocked (glibc 2.36, start_thread), and the kernel would kill the
// process.
bool watch_madvise();

// Makes gettid() answer the driver with the thread that it pretends to be. 0: its own.
void pretend_tid(pid_t tid);

// Hands the driver's turn to the backend while no thread is writing to the log.
void give_turn_to_backend();

// Memory of the worker's own, not watched; at `wish` if that is free. Null if there is none.
void* map_unwatched(uint64_t wish, uint64_t bytes, int protection);

// A system call that is not watched: for the worker's own memory.
long unwatched_syscall(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0,
                       long f = 0);

}  // namespace heaptape::allocators
