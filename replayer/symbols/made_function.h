// The names that programs give to code they make at run time.
#pragma once

#include <string_view>

#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// Parses a name in a perf map:
// - CPython (-X perf): "py::parse:/srv/app.py": function and file
// - V8 (--perf-basic-prof): "JS:*parse /srv/app.js:12:34", where '*', '~' and others say how it was
//   compiled: function, file, and the line that it begins at
// Any other name is just a function.
SourceFrame made_function(std::string_view name);

}  // namespace heaptape::replayer
