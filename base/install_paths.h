// Where heaptape finds the files it was installed with.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::base {

// The absolute path of a file in the private folder: ../lib/heaptape from the folder of the running
// executable, in an installation and in a build tree alike.
Result<std::string> find_private_file(const std::string& name);

}  // namespace heaptape::base
