// Finds the files that heaptape was installed with.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::base {

// The absolute path of a file in the private directory: ../lib/heaptape from the executable's
// directory, both in an installation and in a build tree. Fails for a file that is not a whole
// position-independent program or library: the loader would only warn about it, or crash.
Result<std::string> find_private_file(const std::string& name);

}  // namespace heaptape::base
