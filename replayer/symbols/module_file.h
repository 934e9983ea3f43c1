// Finds the file of a module, and the addresses of its code.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replayer/symbols/debug_files.h"
#include "replayer/symbols/frame_code.h"

namespace heaptape::replayer {

// What there is of a module. The values go from one process to another.
enum class ModuleFinding : uint8_t {
  kLines,       // functions and lines
  kFunctions,   // no lines
  kNothing,     // no symbols
  kGone,        // there is no such file
  kUnreadable,  // there is something, but no ELF file that can be read
  kOtherBuild,  // another file than that of the recording
};
inline constexpr auto kLastModuleFinding = ModuleFinding::kOtherBuild;

// The file of a module, or its debug file where there is no such file any more.
struct ModuleFile {
  std::optional<DebugFile> file;
  bool is_debug_file = false;
  ModuleFinding finding = ModuleFinding::kNothing;  // without a file, why
};

ModuleFile open_module(const CodeModule& module, const DebugFiles& debug_files);

// At which addresses code of a file is, as its symbols have them.
class CodeAddresses {
 public:
  CodeAddresses(Elf* elf, const ModuleFile& opened, const CodeModule& module);

  std::optional<uint64_t> find(uint64_t file_offset) const;

 private:
  std::vector<GElf_Phdr> segments_;
};

}  // namespace heaptape::replayer
