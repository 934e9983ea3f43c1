// Names of functions as their language writes them.
#pragma once

#include <string>

namespace heaptape::replayer {

// The name behind a linker's: of C++ with parameters, of Rust (the older scheme) without its hash;
// any other as it is, but without a symbol's version. Hostile names can take endless time and
// memory here.
std::string function_name(const std::string& linkage_name);

}  // namespace heaptape::replayer
