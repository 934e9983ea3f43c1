// Opens files whose names come from a tape or from other files.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace heaptape::replayer {

// For reading; only a regular file that is not empty, as files of the kernel in /proc and /sys are.
// Nothing else is opened at all: to open a pipe could wait forever, to open a device could act on
// it.
base::Result<base::Descriptor> open_regular_file(const std::string& path);

}  // namespace heaptape::replayer
