// Function names as their language writes them.
#pragma once

#include <string>

namespace heaptape::replayer {

// The name that a linker's stands for: for C++ with parameters, for Rust (the older scheme) without
// its hash; any other unchanged, but without a symbol's version. Hostile names can take endless
// time and memory here.
std::string function_name(const std::string& linkage_name);

}  // namespace heaptape::replayer
