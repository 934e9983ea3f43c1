#include "recorder/collector/code_tables.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/address/pages.h"
#include "base/clock.h"
#include "recorder/collector/process_sampler.h"
#include "recorder/unwind/code_map.h"
#include "recorder/unwind/unwind_table.h"

namespace heaptape::recorder {
namespace {

using schema::CodeMapping;

// A process waits for no more than a second (recorder/ring/handshake.h), and others do behind it.
constexpr uint64_t kMostHasteNs = 100 * base::kMillisecondNs;
constexpr uint64_t kMostHasteBytes = uint64_t{8} << 20;  // of .eh_frame; cc1plus has 3 MiB

constexpr int kSealFutureWrite = 0x10;  // F_SEAL_FUTURE_WRITE; missing from older headers

base::Descriptor open_regular(const std::string& path) {
  base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

// The file that the process has under this path, which may be another one than we have.
base::Descriptor open_mapped(uint32_t pid, const std::string& path) {
  if (!path.starts_with('/')) return {};
  base::Descriptor file = open_regular("/proc/" + std::to_string(pid) + "/root" + path);
  return file ? std::move(file) : open_regular(path);
}

// The limit on file sizes is one of memory files, too.
uint64_t most_file_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return kCodeFileBytes;
  return std::min<uint64_t>(limit.rlim_cur, kCodeFileBytes);
}

}  // namespace

base::Result<std::unique_ptr<CodeTables>> CodeTables::create(Unwinding unwinding) {
  const auto make = [](base::Descriptor file, uint64_t bytes, base::Mapping mapping) {
    return std::unique_ptr<CodeTables>(new CodeTables(std::move(file), bytes, std::move(mapping)));
  };
  if (unwinding == Unwinding::kFramePointers) return make({}, 0, {});
  base::Descriptor file(memfd_create("heaptape-code", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const uint64_t bytes = most_file_bytes();
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return base::os_error("cannot make the memory for unwind tables", errno);
  }
  HEAPTAPE_ASSIGN_OR_RETURN(base::Mapping mapping,
                            base::Mapping::shared(file.get(), bytes,
                                                  "no room for unwind tables; raise the limit on "
                                                  "address space (ulimit -v)"));
  fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  fcntl(file.get(), F_ADD_SEALS, kSealFutureWrite);  // an older kernel has no such seal
  fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL);
  return make(std::move(file), bytes, std::move(mapping));
}

ProcessCode CodeTables::read(uint32_t pid, std::string_view maps, Haste haste) {
  ProcessCode code;
  std::vector<const Module*> modules;
  for (MappedCode& mapped : parse_code(maps)) {
    modules.push_back(find_module(pid, mapped, haste, code));
    if (modules.back() != nullptr) mapped.mapping.build_id = modules.back()->build_id;
    code.mappings.push_back(std::move(mapped.mapping));
  }
  const std::lock_guard lock(mutex_);
  if (file_) code.code_map = add_map(code.mappings, modules);
  return code;
}

// Null: there is none, or it is left for later.
const CodeTables::Module* CodeTables::find_module(uint32_t pid, const MappedCode& mapped,
                                                  Haste haste, ProcessCode& code) {
  if (mapped.is_deleted) return find_module_by_file(mapped.file);
  base::Descriptor file = open_mapped(pid, mapped.mapping.path);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return nullptr;
  const FileKey key{status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  {
    const std::lock_guard lock(mutex_);
    const auto known = modules_.find(key);
    if (known != modules_.end()) return module_of_file_[mapped.file] = &known->second;
  }
  if (haste == Haste::kSome && code.made_ns >= kMostHasteNs) return nullptr;
  const uint64_t begin_ns = base::monotonic_ns();
  const auto compiled = compile(std::move(file), haste);
  code.made_ns += base::monotonic_ns() - begin_ns;
  if (!compiled) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto [module, is_new] = modules_.try_emplace(key);  // another thread may have been faster
  if (is_new) module->second = add_tables(*compiled);
  return module_of_file_[mapped.file] = &module->second;
}

const CodeTables::Module* CodeTables::find_module_by_file(const std::string& file) {
  const std::lock_guard lock(mutex_);
  const auto known = module_of_file_.find(file);
  return known == module_of_file_.end() ? nullptr : known->second;
}

// Of a file that has none, or is none that has any: without tables. Nothing: it would take too
// long.
std::optional<UnwindTables> CodeTables::compile(base::Descriptor file, Haste haste) const {
  if (!file_) {
    UnwindTables none;
    if (auto build_id = build_id_of(std::move(file)); build_id.ok()) none.build_id = *build_id;
    return none;
  }
  const uint64_t most_bytes = haste == Haste::kSome ? kMostHasteBytes : kMostEhFrameBytes;
  auto compiled = compile_unwind_tables(std::move(file), most_bytes);
  if (compiled.ok()) return std::move(*compiled);
  return haste == Haste::kSome ? std::nullopt : std::optional<UnwindTables>(std::in_place);
}

CodeTables::Module CodeTables::add_tables(const UnwindTables& compiled) {
  Module module{{compiled.build_id.begin(), compiled.build_id.end()}, {}};
  for (const CompiledTable& made : compiled.tables) {
    const uint64_t table = append(made.memory.data(), made.memory.size() * sizeof(uint64_t));
    module.segments.push_back({made.segment.file_offset, made.segment.bytes, table});
  }
  return module;
}

// Adds the map of a process, unless it is there already.
uint64_t CodeTables::add_map(const std::vector<CodeMapping>& mappings,
                             const std::vector<const Module*>& modules) {
  std::vector<uint64_t> words;
  for (size_t i = 0; i < mappings.size(); ++i) {
    CodeRange range{mappings[i].range.begin, mappings[i].range.end, 0, 0};
    const auto segments = modules[i] != nullptr ? std::span<const Segment>(modules[i]->segments)
                                                : std::span<const Segment>();
    for (const Segment& segment : segments) {
      // A mapping begins and ends with a page, a segment need not.
      const uint64_t begin = base::page_down(segment.offset);
      if (mappings[i].file_offset < begin ||
          mappings[i].file_offset >= segment.offset + segment.bytes) {
        continue;
      }
      range.offset = mappings[i].file_offset - segment.offset;  // below 0 in the page before
      range.table = segment.table;
    }
    words.insert(words.end(), {range.begin, range.end, range.offset, range.table});
  }
  const auto known = maps_.find(words);
  if (known != maps_.end()) return known->second;
  CodeMap map{kCodeMapMagic, 0, mappings.size(), 0};
  map.file_bytes = used_bytes_ + sizeof map + words.size() * sizeof(uint64_t);
  std::vector<uint64_t> whole(sizeof map / sizeof(uint64_t));
  std::memcpy(whole.data(), &map, sizeof map);
  whole.insert(whole.end(), words.begin(), words.end());
  return maps_[words] = append(whole.data(), whole.size() * sizeof(uint64_t));
}

// Where in the file it is now; 0: there is no room.
uint64_t CodeTables::append(const void* data, uint64_t bytes) {
  if (used_bytes_ > file_bytes_ || bytes > file_bytes_ - used_bytes_) return 0;
  const uint64_t offset = used_bytes_;
  // First gets the memory: for a page that cannot be had, a store would be answered by a signal.
  if (fallocate(file_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    return 0;
  }
  std::memcpy(static_cast<char*>(mapping_.data()) + offset, data, bytes);
  used_bytes_ = base::round_up(offset + bytes, 64);
  return offset;
}

}  // namespace heaptape::recorder
