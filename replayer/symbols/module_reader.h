// Reads the symbols of one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/symbols/frame_code.h"
#include "replayer/symbols/module_file.h"
#include "replayer/symbols/symbol_options.h"
#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

struct ModuleAnswer {
  ModuleFinding finding = ModuleFinding::kNothing;
  std::vector<CodePlace> places;  // of the offsets, in their order
};

// `offsets`, in the file, ascend. A place that is not found stays an offset in the file. A file not
// made by a compiler may take all memory or time here, or break libdw: run this in a process of its
// own, see run_confined.
ModuleAnswer read_module(const CodeModule& module, const std::vector<uint64_t>& offsets,
                         const SymbolOptions& options);

}  // namespace heaptape::replayer
