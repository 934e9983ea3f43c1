// Maps parts of the session into a recorded process as they are needed: its blocks of slots and
// ring headers, and the words of its own rings.
#pragma once

#include <cstdint>

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// The block at `index`; null if it cannot be mapped. It stays mapped. Any thread.
char* map_block(SessionView session, uint32_t index);

// The words of the ring at `index`; null if they cannot be mapped. They stay mapped, together with
// those of its neighbors. Any thread.
uint64_t* map_ring_words(SessionView session, uint32_t index);

}  // namespace heaptape::recorder
