// The call stacks from which a thread asks for blocks. Most differ from the one before in a few
// inner frames, so each frame has a number, which stands for it and all that are further out.
// docs/decisions/0022-stacks.md.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// Of one thread, in memory of its own: what its ring has.
struct StackLog;

// The number, in the ring of the calling thread, of the stack that called the hook whose frame is
// at `hook_frame` for `bytes`; 0: it is not among those to record, or there is no ring, or no
// memory. Frames that the ring lacks are published first. Called within a hook. Reads stacks
// (stack_memory.h) and unwind tables (code_view.h); takes no lock, and allocates by mmap alone.
[[gnu::noinline]] uint32_t log_stack(uint64_t bytes, uintptr_t hook_frame);

// The ring has none of it any more.
void empty_stack_log(StackLog& log);

// In a forked child, before its first thread has a log: those of its parent's threads, which it has
// mapped, too, are used anew.
void inherit_stack_logs();

}  // namespace heaptape::recorder
