// The outcome of a call by which a recorded program steered its allocator. Free of the C++ run-time
// library.
#pragma once

#include <cstdint>

namespace heaptape::allocators {

enum class SteeringOutcome : uint32_t {
  kIgnored,      // the allocator has nothing of the kind
  kRefused,      // it has, and it cannot be done here: an arena that is not there, say
  kCounterpart,  // it was asked for what comes nearest
  kRepeated,     // the call was made as the program made it
};

}  // namespace heaptape::allocators
