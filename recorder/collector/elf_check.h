// Looks at a program before it runs: can the preload library see its calls to malloc?
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptape::recorder {

// The file that execvp(command) would run: searched in PATH when the name has no slash.
base::Result<std::string> find_program(const std::string& command);

// An error that says what to do when recording `program` (a path) cannot work: a statically linked
// executable, one that brings its own malloc, one that drops the preload for its privileges, one of
// another machine type. Scripts are judged by their interpreter.
base::Status check_recordable(const std::string& program);

}  // namespace heaptape::recorder
