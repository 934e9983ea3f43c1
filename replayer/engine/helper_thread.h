// Threads that help where there is room for them.
#pragma once

#include <functional>
#include <thread>

namespace heaptape::replayer {

// Runs work() in a thread of its own. Returns none, and does not run work(), where the system
// grants no thread, and under a limit on address space (`ulimit -v`) of less than 4 GiB: a thread
// takes 8 MiB for its stack and up to 128 MiB for its share of malloc (glibc 2.36, HEAP_MAX_SIZE),
// which the tables of a replay may need.
std::jthread helper_thread(std::function<void()> work);

}  // namespace heaptape::replayer
