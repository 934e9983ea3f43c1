#include "recorder/collector/code_tables.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/address/pages.h"
#include "base/clock.h"
#include "recorder/collector/process_sampler.h"
#include "recorder/ring/near_callees.h"
#include "recorder/unwind/code_map.h"
#include "recorder/unwind/unwind_table.h"

namespace heaptape::recorder {
namespace {

using schema::CodeMapping;

// A process waits for no more than a second (recorder/ring/handshake.h), and others do behind it.
constexpr const char* kVdso = "[vdso]";

constexpr int kSealFutureWrite = 0x10;  // F_SEAL_FUTURE_WRITE; missing from older headers

base::Descriptor open_regular(const std::string& path) {
  base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

// The file that the process has mapped. Its root may be another than ours, and out of reach: then
// what we have under the same path will do if its inode is the same. (Overlays show the process
// another device than us.)
base::Descriptor open_mapped(uint32_t pid, const MappedCode& mapped) {
  const std::string& path = mapped.mapping.path;
  if (!path.starts_with('/')) return {};
  base::Descriptor file = open_regular("/proc/" + std::to_string(pid) + "/root" + path);
  if (file) return file;
  file = open_regular(path);
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) return {};
  return mapped.file.ends_with(" " + std::to_string(status.st_ino)) ? std::move(file)
                                                                    : base::Descriptor();
}

base::Descriptor duplicate(const base::Descriptor& file) {
  return base::Descriptor(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
}

// Empty: it has none.
std::string build_id_text(base::Descriptor file) {
  const auto build_id = build_id_of(std::move(file));
  return build_id.ok() ? std::string(build_id->begin(), build_id->end()) : "";
}

uint64_t hash_of(std::span<const uint64_t> words) {
  uint64_t hash = words.size();
  for (const uint64_t word : words) hash = std::rotl((hash ^ word) * kGoldenRatio, 32);
  return hash;
}

// The kernel's code in every process, our own too, as a file.
base::Descriptor copy_of_vdso() {
  const auto* const image = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
  if (image == nullptr) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  const uint64_t bytes = header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum;
  base::Descriptor file(memfd_create("heaptape-vdso", MFD_CLOEXEC));
  if (!file || write(file.get(), image, bytes) != static_cast<ssize_t>(bytes)) return {};
  return file;
}

// The limit on file sizes is one of memory files, too.
uint64_t most_file_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return kCodeFileBytes;
  return std::min<uint64_t>(limit.rlim_cur, kCodeFileBytes);
}

}  // namespace

base::Result<std::unique_ptr<CodeTables>> CodeTables::create(Unwinding unwinding,
                                                             const HasteLimits& haste) {
  const auto make = [&haste](base::Descriptor file, uint64_t bytes, base::Mapping mapping) {
    return std::unique_ptr<CodeTables>(
        new CodeTables(std::move(file), bytes, std::move(mapping), haste));
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
  std::vector<MappedCode> all = parse_code(maps);
  std::vector<const Module*> modules;
  for (MappedCode& mapped : all) {
    modules.push_back(mapped.is_made() ? nullptr : find_module(pid, mapped, haste, code));
  }
  {
    const std::lock_guard lock(mutex_);
    if (file_) code.code_map = add_map(all, modules);
  }
  for (MappedCode& mapped : all) {
    if (!mapped.is_made()) code.mappings.push_back(std::move(mapped.mapping));
  }
  return code;
}

// Null: there is none, or its tables are left for later. Either way notes the file's build-id.
const CodeTables::Module* CodeTables::find_module(uint32_t pid, MappedCode& mapped, Haste haste,
                                                  ProcessCode& code) {
  const Module* const module = look_up_or_make(pid, mapped, haste, code);
  if (module != nullptr) mapped.mapping.build_id = module->build_id;
  return module;
}

const CodeTables::Module* CodeTables::look_up_or_make(uint32_t pid, MappedCode& mapped, Haste haste,
                                                      ProcessCode& code) {
  const bool is_vdso = mapped.mapping.path == kVdso;
  const Module* const known_vdso = is_vdso ? find_module_by_file(kVdso) : nullptr;
  if (known_vdso != nullptr) return known_vdso;
  if (mapped.is_deleted) return find_module_by_file(mapped.file);
  base::Descriptor file = is_vdso ? copy_of_vdso() : open_mapped(pid, mapped);
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) return nullptr;
  const FileKey key{status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  {
    const std::lock_guard lock(mutex_);
    const auto known = modules_.find(key);
    if (known != modules_.end())
      return module_of_file_[is_vdso ? kVdso : mapped.file] = &known->second;
  }
  const bool is_in_time = haste == Haste::kNone || code.made_ns < haste_.most_ns;
  const uint64_t begin_ns = base::monotonic_ns();
  const uint64_t begin_cpu_ns = base::thread_cpu_ns();
  const auto compiled = is_in_time ? compile(duplicate(file), haste) : std::nullopt;
  code.made_ns += base::monotonic_ns() - begin_ns;
  code.cpu_ns += base::thread_cpu_ns() - begin_cpu_ns;
  if (!compiled) {
    mapped.mapping.build_id = build_id_text(std::move(file));
    code.is_partial = true;
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  const auto [module, is_new] = modules_.try_emplace(key);  // another thread may have been faster
  if (is_new) module->second = add_tables(*compiled);
  return module_of_file_[is_vdso ? kVdso : mapped.file] = &module->second;
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
  const CompileLimits most = haste == Haste::kSome ? haste_.most : CompileLimits{};
  auto compiled = compile_unwind_tables(std::move(file), most);
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
uint64_t CodeTables::add_map(const std::vector<MappedCode>& code,
                             const std::vector<const Module*>& modules) {
  std::vector<uint64_t> words;
  for (size_t i = 0; i < code.size(); ++i) {
    const CodeMapping& mapping = code[i].mapping;
    CodeRange range{mapping.range.begin, mapping.range.end, 0, code[i].is_made() ? kMadeCode : 0};
    const auto segments = modules[i] != nullptr ? std::span<const Segment>(modules[i]->segments)
                                                : std::span<const Segment>();
    for (const Segment& segment : segments) {
      // A mapping begins and ends with a page, a segment need not.
      const uint64_t begin = base::page_down(segment.offset);
      if (mapping.file_offset < begin || mapping.file_offset >= segment.offset + segment.bytes) {
        continue;
      }
      range.offset = mapping.file_offset - segment.offset;  // below 0 in the page before
      range.table = segment.table;
    }
    words.insert(words.end(), {range.begin, range.end, range.offset, range.table});
  }
  const uint64_t hash = hash_of(words);
  for (auto [at, end] = maps_.equal_range(hash); at != end; ++at) {
    if (is_map_of(at->second, words)) return at->second;
  }
  CodeMap map{kCodeMapMagic, 0, code.size(), 0};
  map.file_bytes = used_bytes_ + sizeof map + words.size() * sizeof(uint64_t);
  std::vector<uint64_t> whole(sizeof map / sizeof(uint64_t));
  std::memcpy(whole.data(), &map, sizeof map);
  whole.insert(whole.end(), words.begin(), words.end());
  const uint64_t offset = append(whole.data(), whole.size() * sizeof(uint64_t));
  if (offset != 0) maps_.emplace(hash, offset);
  return offset;
}

// Whether the map at `offset` has these ranges.
bool CodeTables::is_map_of(uint64_t offset, std::span<const uint64_t> words) const {
  const auto* const map = static_cast<const char*>(mapping_.data()) + offset;
  const uint64_t ranges = reinterpret_cast<const CodeMap*>(map)->ranges;
  return ranges * sizeof(CodeRange) == words.size_bytes() &&
         (words.empty() ||
          std::memcmp(map + sizeof(CodeMap), words.data(), words.size_bytes()) == 0);
}

// Where in the file it is now; 0: there is no room.
uint64_t CodeTables::append(const void* data, uint64_t bytes) {
  if (used_bytes_ > file_bytes_ || bytes > file_bytes_ - used_bytes_) return 0;
  const uint64_t offset = used_bytes_;
  // First gets the memory: for a page that cannot be had, a store would be answered by a signal.
  while (fallocate(file_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return 0;  // tmpfs gives up for any signal
  }
  std::memcpy(static_cast<char*>(mapping_.data()) + offset, data, bytes);
  used_bytes_ = base::round_up(offset + bytes, 64);
  return offset;
}

}  // namespace heaptape::recorder
