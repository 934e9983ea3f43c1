// The call stacks from which a thread asks for blocks. Most differ from the one before in a few
// inner frames, so each frame has a number, which stands for it and all that are further out.
// docs/decisions/0022-stacks.md.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// Of one thread, in memory of its own: what its ring has.
struct StackLog;

// The number, in the ring of the calling thread, of the stack that called the hook whose frame is
// at `hook_frame`; 0: there is no ring, or no memory. Frames that the ring lacks are published
// first. Called within a hook. Reads stacks (stack_memory.h) and unwind tables (code_view.h); takes
// no lock, and allocates by mmap alone.
[[gnu::noinline]] uint32_t log_stack(uintptr_t hook_frame);

// The ring has none of it any more.
void empty_stack_log(StackLog& log);

}  // namespace heaptape::recorder
