// Work on files that may break the reader, done where it breaks nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"

namespace heaptape::replayer {

struct Confinement {
  uint64_t memory_bytes = 0;  // beyond what this process has
  uint32_t seconds = 0;       // by the clock, and so by the processor, too
};

// What `work` returns when a fork of this process runs it, or how that ended instead, as a clause:
// "it crashed (Segmentation fault)". The fork prints nothing, handles no signal, leaves no core
// dump and ends when its parent does. Trust its words no more than what it read. To be called while
// this process has one thread: the fork allocates memory, whatever locks other threads held.
base::Result<std::vector<uint64_t>> run_confined(
    const Confinement& limits, const std::function<std::vector<uint64_t>()>& work);

}  // namespace heaptape::replayer
