// Checks output files before a command does its work, not after it.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::cli {

// Checks whether a file can be written to `path`. An empty path passes.
base::Status check_writable(const std::string& path);

}  // namespace heaptape::cli
