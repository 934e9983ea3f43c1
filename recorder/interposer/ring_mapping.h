// Maps the words of rings into a recorded process, ring by ring, as its threads claim them.
#pragma once

#include <cstdint>

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// The words of the ring at `index`, which the caller has claimed; null when they cannot be mapped.
// They stay mapped, for the next thread that claims the ring.
uint64_t* map_ring_words(SessionView session, uint32_t index);

}  // namespace heaptape::recorder
