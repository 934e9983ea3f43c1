// The process's side of the handshake (recorder/ring/handshake.h).
#pragma once

#include <cstdint>

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

struct Joined {
  SessionView
      session;       // its first kJoinBytes; invalid if there is no session, or it cannot be joined
  uint32_t pid = 0;  // this process, as the collector sees it
  uint64_t code_map = 0;          // ProcessSlot::code_map
  uint32_t recorder = 0;          // its pid, see recorder_process.h
  AllocatorFacts allocator = {};  // Welcome::allocator
};

// Reads HEAPTAPE_SESSION, connects, maps. Trusts a recorder only if it runs as root or as this
// process's own user, and only memory that cannot shrink. Makes only raw system calls, leaves no
// descriptor open, and waits kPatienceMs at most for a recorder that is stopped, kLongPatienceMs
// for one that runs or has heard us. Unless the session follows exec, removes itself from the
// environment that the process hands on.
Joined join_session(const AllocatorFacts& allocator);

}  // namespace heaptape::recorder
