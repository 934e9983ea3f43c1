// Isolates work on files that may break the reader.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"

namespace heaptape::replayer {

struct Confinement {
  uint64_t memory_bytes = 0;  // beyond this process's own
  uint32_t seconds = 0;       // by the clock, which also limits the processor time
};

// The result of `work`, run in a fork of this process, or how that ended instead, as a clause: "it
// crashed (Segmentation fault)". The fork prints nothing, handles no signal, leaves no core dump
// and ends when its parent does. Trust its result no more than its input. Call while this process
// has one thread: the fork allocates memory, whatever locks other threads held.
base::Result<std::vector<uint64_t>> run_confined(
    const Confinement& limits, const std::function<std::vector<uint64_t>()>& work);

}  // namespace heaptape::replayer
