// Opens files whose names come from a tape or from other files.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace heaptape::replayer {

// Opens a file for reading if it is regular and not empty, as files in /proc are. Never opens
// anything else: opening a pipe could wait forever, and opening a device could act on it.
base::Result<base::Descriptor> open_regular_file(const std::string& path);

}  // namespace heaptape::replayer
