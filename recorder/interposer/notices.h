// Tells the collector what is not recorded, and why.
#pragma once

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// Posts a notice in the session, if this process is in one that is not over. `times` is 1, or -1 to
// take one back. Makes no system call. Any thread, also between vfork and exec.
void post_notice(Unrecorded reason, const char* path, int32_t times);

}  // namespace heaptape::recorder
