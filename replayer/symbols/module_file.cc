#include "replayer/symbols/module_file.h"

#include <string_view>
#include <utility>

#include "replayer/symbols/regular_file.h"

namespace heaptape::replayer {

ModuleFile open_module(const CodeModule& module, const DebugFiles& debug_files) {
  // The kernel appends this to the path of a file that was removed or replaced.
  constexpr std::string_view kDeleted = " (deleted)";
  std::string path = module.path;
  const bool was_replaced = path.ends_with(kDeleted);
  if (was_replaced) path.resize(path.size() - kDeleted.size());
  ModuleFile opened;
  base::Result<base::Descriptor> file = open_regular_file(path);
  if (!file) {
    const bool is_gone = file.error().code == base::ErrorCode::kNotFound;
    opened.finding = is_gone ? ModuleFinding::kGone : ModuleFinding::kUnreadable;
  } else if (module.build_id.empty() ? was_replaced : build_id_of(*file) != module.build_id) {
    opened.finding = ModuleFinding::kOtherBuild;
  } else {
    opened.file = {path, std::move(*file)};
    return opened;
  }
  opened.file = debug_files.find_by_build_id(module.build_id);
  opened.is_debug_file = opened.file.has_value();
  return opened;
}

// A debug file only has correct segment addresses: its code is assumed to be mapped from where the
// lowest mapping began.
CodeAddresses::CodeAddresses(Elf* elf, const ModuleFile& opened, const CodeModule& module) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (opened.is_debug_file) {
      constexpr uint64_t kPageBytes = 4096;
      segment.p_offset = module.mapped_from + segment.p_vaddr % kPageBytes;
      segment.p_filesz = segment.p_memsz;
    }
    segments_.push_back(segment);
  }
  if (opened.is_debug_file && segments_.size() > 1) segments_.clear();  // mapped from where?
}

std::optional<uint64_t> CodeAddresses::find(uint64_t file_offset) const {
  for (const GElf_Phdr& segment : segments_) {
    if (file_offset >= segment.p_offset && file_offset - segment.p_offset < segment.p_filesz) {
      return file_offset - segment.p_offset + segment.p_vaddr;
    }
  }
  return std::nullopt;
}

}  // namespace heaptape::replayer
