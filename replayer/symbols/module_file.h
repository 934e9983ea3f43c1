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

// The file of a module, or its debug file if that file is gone.
struct ModuleFile {
  std::optional<DebugFile> file;
  bool is_debug_file = false;
  ModuleFinding finding = ModuleFinding::kNothing;  // the reason, without a file
};

ModuleFile open_module(const CodeModule& module, const DebugFiles& debug_files);

// The addresses of a file's code, as its symbols have them.
class CodeAddresses {
 public:
  CodeAddresses(Elf* elf, const ModuleFile& opened, const CodeModule& module);

  std::optional<uint64_t> find(uint64_t file_offset) const;

 private:
  std::vector<GElf_Phdr> segments_;
};

}  // namespace heaptape::replayer
