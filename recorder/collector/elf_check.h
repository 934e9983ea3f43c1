// Checks, before a program runs, whether the preload library can see its calls to malloc.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace heaptape::recorder {

// The file that execvp(command) would run: searched in PATH when the name has no slash.
base::Result<std::string> find_program(const std::string& command);

// An error, with what to do, when `program`, a path, cannot be recorded as it is started by
// `command`: recorder/program/program_check.h says how that is found out. A file that cannot be
// read, or is neither program nor script, passes: execution will show.
base::Status check_recordable(const std::string& program, const std::vector<std::string>& command);

}  // namespace heaptape::recorder
