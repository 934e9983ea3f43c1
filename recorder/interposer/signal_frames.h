// Whether a signal handler runs now that interrupted a given function of the same thread.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// Looks for what the kernel leaves on the stack for a handler to return to (struct rt_sigframe of
// Linux, arch/x86/include/asm/sigframe.h) between `frame`, the stack pointer now, and `outer`, that
// of a function further out. A handler on an alternate stack counts if that function is not on it.
// False where it must not or cannot look: further than a MiB, or while system calls are forbidden.
bool in_handler_that_interrupted(uintptr_t outer, uintptr_t frame);

}  // namespace heaptape::recorder
