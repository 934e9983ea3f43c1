// Reads the symbols of one file in a process of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "replayer/symbols/module_reader.h"

namespace heaptape::replayer {

// Like read_module, whatever the file does to it: the error says as a clause how it ended ("it
// crashed ..."). See run_confined for when this may be called.
base::Result<ModuleAnswer> read_module_apart(const CodeModule& module,
                                             const std::vector<uint64_t>& offsets,
                                             const SymbolOptions& options);

}  // namespace heaptape::replayer
