// The recorder's process, as a recorded one sees it. Raw system calls only.
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace heaptape::recorder {

// The process that listens at the other end of the socket. Its pid is 0 if it has none here, as in
// a container, and its uid -1 if the kernel does not tell.
ucred recorder_behind(long socket);

// Whether /proc shows it as stopped or gone. If /proc does not tell, it counts as stopped.
bool is_stopped(uint32_t recorder);

}  // namespace heaptape::recorder
