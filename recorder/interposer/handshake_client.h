// The joining process's side of handshake.h.
#pragma once

#include <cstdint>

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

struct Joined {
  SessionView session;  // invalid: there is no session, or it takes no more processes
  uint32_t pid = 0;     // of this process, as the collector sees it
};

// Reads HEAPTAPE_SESSION, connects, maps. Uses system calls only, leaves no descriptor open, and
// gives up after kHandshakeTimeoutSeconds. Unless the session follows exec, takes itself out of the
// environment that the process hands on.
Joined join_session();

}  // namespace heaptape::recorder
