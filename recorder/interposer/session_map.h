// Maps more of the process's pool as it is needed: blocks of parts, and the words of its own rings.
#pragma once

#include <cstdint>

#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// The part at `index`; null if it cannot be mapped. It stays mapped. Any thread.
PoolPart* map_part(const SessionView& session, uint32_t index);

// The words of the ring at `index`; null if they cannot be mapped. They stay mapped, together with
// those of its neighbors. Any thread.
uint64_t* map_ring_words(const SessionView& session, uint32_t index);

// Puts private memory in the place of the pool, and of all that was mapped of it, because a list of
// robust futexes may still lead there (musl does not begin a new one in a child). For a forked
// child, which has one thread.
void give_up_pool(const SessionView& session);

}  // namespace heaptape::recorder
