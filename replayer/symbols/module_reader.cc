#include "replayer/symbols/module_reader.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replayer/symbols/debug_files.h"
#include "replayer/symbols/dwarf_source.h"
#include "replayer/symbols/frame_code.h"
#include "replayer/symbols/function_symbols.h"

namespace heaptape::replayer {
namespace {

// The file of a module, or its debug file if that file is gone.
struct ModuleFile {
  std::optional<DebugFile> file;
  bool is_debug_file = false;
  ModuleFinding finding = ModuleFinding::kNothing;  // the reason, without a file
};

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

// The addresses of a file's code, as its symbols have them.
class CodeAddresses {
 public:
  CodeAddresses(Elf* elf, const ModuleFile& opened, const CodeModule& module);

  std::optional<uint64_t> find(uint64_t file_offset) const;

 private:
  std::vector<GElf_Phdr> segments_;
};

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

// For libdwfl's callback that finds debug files.
struct Search {
  DebugFiles files;
  bool debuginfod;
};

std::string_view build_id_of(Dwfl_Module* module) {
  const unsigned char* bytes = nullptr;
  GElf_Addr unused = 0;
  const int count = dwfl_module_build_id(module, &bytes, &unused);
  if (count <= 0) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(count)};
}

// The debug file of a module or, if it has one, the file to which dwz moved parts of it.
std::optional<DebugFile> find_debug_file(const Search& search, Dwfl_Module* module,
                                         const char* path, const char* link, uint32_t checksum) {
  Dwarf_Addr debug_bias = 0;
  const char* debug_path = nullptr;
  dwfl_module_info(module, nullptr, nullptr, nullptr, &debug_bias, nullptr, nullptr, &debug_path);
  const bool has_debug_file = debug_bias != static_cast<Dwarf_Addr>(-1);
  if (!has_debug_file) {
    const std::string_view build_id = build_id_of(module);
    if (auto found = search.files.find_by_build_id(build_id)) return found;
    if (link == nullptr) return std::nullopt;
    return search.files.find_by_link(path, link, checksum, build_id);
  }
  Dwarf* const dwarf = dwfl_module_getdwarf(module, &debug_bias);
  const char* name = nullptr;
  const void* bytes = nullptr;
  const ssize_t count = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes);
  if (count <= 0) return std::nullopt;
  return search.files.find_shared(debug_path == nullptr ? path : debug_path, name,
                                  {static_cast<const char*>(bytes), static_cast<size_t>(count)});
}

// libdwfl's own search opens any file with the name, and asks servers if the environment names
// some.
int find_debuginfo(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                   const char* path, const char* link, GElf_Word checksum, char** debug_path) {
  const auto& search = *static_cast<const Search*>(*userdata);
  auto found = find_debug_file(search, module, path == nullptr ? "" : path, link, checksum);
  if (found) {
    *debug_path = strdup(found->path.c_str());
    return found->file.release();
  }
  if (!search.debuginfod) return -1;
  return dwfl_standard_find_debuginfo(module, userdata, module_name, base, path, link, checksum,
                                      debug_path);
}

// One module, at the addresses that its file says; looks at no process.
class ModuleSession {
 public:
  explicit ModuleSession(Search search) : search_(std::move(search)) {
    callbacks_.find_debuginfo = find_debuginfo;
    session_.reset(dwfl_begin(&callbacks_));
  }

  // Null if it is not a file that code could be mapped from.
  Dwfl_Module* open(DebugFile file) {
    if (session_ == nullptr) return nullptr;
    const char* const path = file.path.c_str();
    Dwfl_Module* const module =
        dwfl_report_elf(session_.get(), path, path, file.file.get(), 0, true);
    if (module == nullptr || dwfl_report_end(session_.get(), nullptr, nullptr) != 0) return nullptr;
    file.file.release();  // libdwfl closes it
    void** userdata = nullptr;
    dwfl_module_info(module, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    *userdata = &search_;
    return module;
  }

 private:
  struct Ender {
    void operator()(Dwfl* session) const { dwfl_end(session); }
  };

  Search search_;
  Dwfl_Callbacks callbacks_ = {};
  std::unique_ptr<Dwfl, Ender> session_;
};

// The places in code, with offsets turned into addresses; sorted by address.
std::vector<CodePlace*> place_in_memory(std::vector<CodePlace>& places,
                                        const CodeAddresses& addresses) {
  std::vector<CodePlace*> placed;
  for (CodePlace& place : places) {
    const std::optional<uint64_t> address = addresses.find(place.offset);
    if (!address) continue;
    place.offset = *address;
    placed.push_back(&place);
  }
  std::ranges::sort(placed, {}, &CodePlace::offset);
  return placed;
}

ModuleFinding read_source(Dwfl_Module* module, const std::vector<CodePlace*>& places) {
  std::vector<uint64_t> addresses;
  for (const CodePlace* const place : places) addresses.push_back(place->offset);
  Dwarf_Addr bias = 0;
  Dwarf* const dwarf = dwfl_module_getdwarf(module, &bias);
  const DwarfSource lines(dwarf, bias);
  const FunctionSymbols functions(module);
  auto source = lines.read(addresses, functions);
  for (size_t i = 0; i < places.size(); ++i) places[i]->source = std::move(source[i]);
  if (!lines.empty()) return ModuleFinding::kLines;
  return functions.empty() ? ModuleFinding::kNothing : ModuleFinding::kFunctions;
}

}  // namespace

ModuleAnswer read_module(const CodeModule& module, const std::vector<uint64_t>& offsets,
                         const SymbolOptions& options) {
  elf_version(EV_CURRENT);
  ModuleAnswer answer;
  for (const uint64_t offset : offsets) answer.places.push_back({module.path, offset, {}});
  const DebugFiles debug_files(options.debug_dirs);
  ModuleFile opened = open_module(module, debug_files);
  answer.finding = opened.finding;
  if (!opened.file) return answer;
  answer.finding = ModuleFinding::kUnreadable;
  ModuleSession session({debug_files, options.debuginfod});
  Dwfl_Module* const found = session.open(std::move(*opened.file));
  GElf_Addr bias = 0;
  Elf* const elf = found == nullptr ? nullptr : dwfl_module_getelf(found, &bias);
  if (elf == nullptr) return answer;
  const CodeAddresses addresses(elf, opened, module);
  answer.finding = read_source(found, place_in_memory(answer.places, addresses));
  return answer;
}

}  // namespace heaptape::replayer
