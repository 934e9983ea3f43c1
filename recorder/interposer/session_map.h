// Maps parts of the session into a recorded process as they are needed: its blocks of slots and
// ring headers, and the words of its own rings.
#pragma once

#include <cstdint>

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// The block at `index`; null when it cannot be mapped. It stays mapped. Any thread.
char* map_block(SessionView session, uint32_t index);

// The words of the ring at `index`, which the caller has claimed; null when they cannot be mapped.
// They stay mapped, for the next thread that claims the ring.
uint64_t* map_ring_words(SessionView session, uint32_t index);

}  // namespace heaptape::recorder
