// Checks, before a program runs, whether the preload library can see its calls to malloc.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptape::recorder {

// The file that execvp(command) would run: searched in PATH when the name has no slash.
base::Result<std::string> find_program(const std::string& command);

// An error, with what to do, when `program` (a path) cannot be recorded: it is statically linked,
// defines malloc itself, is run with other privileges (the loader then ignores LD_PRELOAD), or is
// for another machine type. For a script, checks its interpreter. A file that cannot be read, or is
// neither, passes: execution will show.
base::Status check_recordable(const std::string& program);

}  // namespace heaptape::recorder
