// The recorder's process, as a recorded one sees it. Raw system calls only.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// The process that listens at the other end of the socket; 0 if it has no pid here, as in a
// container.
uint32_t recorder_behind(long socket);

// Whether /proc shows it as stopped or gone. If /proc does not tell, it counts as stopped.
bool is_stopped(uint32_t recorder);

}  // namespace heaptape::recorder
