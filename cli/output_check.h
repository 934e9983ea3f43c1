// What the commands that write files ask before their work, not after it.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::cli {

// Whether a file can go to `path`. Nothing is asked of an empty path.
base::Status check_writable(const std::string& path);

}  // namespace heaptape::cli
