// Settings of well-known allocators whose meaning differs between a replay and the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::allocators {

enum class CallingThreads : uint8_t { kOne, kSeveral };

// A sentence for each such setting in `environment` (NAME=VALUE), given to an allocator of that
// family (see allocator_family). `threads`: how many make the replay's calls.
std::vector<std::string> setting_notes(const std::string& family,
                                       const std::vector<std::string>& environment,
                                       CallingThreads threads);

}  // namespace heaptape::allocators
