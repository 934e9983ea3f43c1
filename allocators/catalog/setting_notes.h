// Settings of well-known allocators that do not mean in a replay what they mean in the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::allocators {

enum class CallingThreads : uint8_t { kOne, kSeveral };

// A sentence for each such setting in `environment` (NAME=VALUE), given to an allocator of that
// family (see allocator_family). `threads`: by how many the replay makes its calls.
std::vector<std::string> setting_notes(const std::string& family,
                                       const std::vector<std::string>& environment,
                                       CallingThreads threads);

}  // namespace heaptape::allocators
