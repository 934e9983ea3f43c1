// Reads the symbols of one file, here or in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/symbols/frame_code.h"
#include "replayer/symbols/symbol_options.h"
#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// The result of a search for a module. The values are passed between processes.
enum class ModuleFinding : uint8_t {
  kLines,       // functions and lines
  kFunctions,   // no lines
  kNothing,     // no symbols
  kGone,        // no such file
  kUnreadable,  // something exists, but no readable ELF file
  kOtherBuild,  // not the recorded file
};
inline constexpr auto kLastModuleFinding = ModuleFinding::kOtherBuild;

struct ModuleAnswer {
  ModuleFinding finding = ModuleFinding::kNothing;
  std::vector<CodePlace> places;  // of the offsets, in their order
};

// `offsets`, in the file, ascend. A place that is not found stays an offset in the file. A file not
// made by a compiler may take all memory or time here, or break libdw: run this in a process of its
// own, see run_confined.
ModuleAnswer read_module(const CodeModule& module, const std::vector<uint64_t>& offsets,
                         const SymbolOptions& options);

// Like read_module, whatever the file does to it: the error says as a clause how it ended ("it
// crashed ..."). See run_confined for when this may be called.
base::Result<ModuleAnswer> read_module_apart(const CodeModule& module,
                                             const std::vector<uint64_t>& offsets,
                                             const SymbolOptions& options);

}  // namespace heaptape::replayer
