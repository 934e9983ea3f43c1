// The process's side of the handshake (recorder/ring/handshake.h).
#pragma once

#include <cstdint>

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

struct Joined {
  // With the beginning of a pool; invalid if there is no session, or it cannot be joined.
  SessionView session;
  uint32_t pid = 0;               // this process, as the collector sees it
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

// Asks the recorder of the session that was joined for so many pools, at most kMostSpares, for
// children. Their first pages are mapped, but not in forked children. Returns how many there are:
// fewer if it has no more, none if it cannot be reached any more (from another network namespace),
// or is not trusted. Waits, and trusts, as join_session() does.
uint32_t fetch_spare_pools(PoolView* pools, uint32_t count);

// Tells the recorder of the session that was joined that this process, the first of its pid
// namespace, is about to end and takes the recorder with it. Waits until the tapes are complete,
// for half a minute at most, and no longer than the recorder lives. Allocates nothing.
void finish_recording();

}  // namespace heaptape::recorder
