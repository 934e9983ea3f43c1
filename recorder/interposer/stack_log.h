// The call stacks of a thread's allocations. Most differ from the last in a few inner frames, so
// each frame has a number, which stands for it and all that are further out.
// docs/decisions/0022-stacks.md.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// For one thread, in memory of its own: what its ring holds.
struct StackLog;

// The number, in the calling thread's ring, of the stack that called the hook whose frame is at
// `hook_frame` for `bytes`; 0 if it is not among those to record, or there is no ring or no memory.
// Frames that the ring lacks are published first. Called within a hook. Reads stacks
// (stack_memory.h) and unwind tables (code_view.h); takes no lock, and allocates by mmap alone.
[[gnu::noinline]] uint32_t log_stack(uint64_t bytes, uintptr_t hook_frame);

// The same for a call that maps memory: each has its stack, also if those of others are sampled.
[[gnu::noinline]] uint32_t log_stack_of_mapping(uintptr_t hook_frame);

// For a ring that no longer holds any of it.
void empty_stack_log(StackLog& log);

// In a forked child, before its first thread has a log: reuses the logs of its parent's threads,
// which it has also mapped.
void inherit_stack_logs();

}  // namespace heaptape::recorder
