// The process of the recorder, as a recorded one sees it. Raw system calls only.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// The one that listens at the other end of the socket; 0 where it has no pid here, as in a
// container.
uint32_t recorder_behind(long socket);

// Whether it is stopped or gone, as /proc shows it. Where /proc does not, it counts as stopped.
bool is_stopped(uint32_t recorder);

}  // namespace heaptape::recorder
