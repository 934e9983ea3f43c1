#include "recorder/collector/inner_allocators.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/descriptor.h"
#include "base/output_file.h"
#include "recorder/collector/library_facts.h"
#include "schema/heap_remedies.h"
#include "schema/tape/inner_heaps.h"

namespace heaptape::recorder {
namespace {

// What a process has mapped, in its root or in ours: /proc shows paths as our process sees
// them, unless that process has mounts of its own. On overlays the inode may be another; then its
// root decides.
base::Descriptor open_as_mapped(uint32_t pid, const MappedCode& code) {
  const auto is_mapped = [&code](const base::Descriptor& file) {
    struct stat info = {};
    return file && fstat(file.get(), &info) == 0 &&
           code.file.ends_with(" " + std::to_string(info.st_ino));
  };
  base::Descriptor theirs = open_as_seen_by(pid, code.mapping.path);
  if (is_mapped(theirs)) return theirs;
  base::Descriptor ours(open(code.mapping.path.c_str(), O_PATH | O_CLOEXEC));
  return is_mapped(ours) ? std::move(ours) : std::move(theirs);
}

// Nothing for a process that has ended, whose text is empty.
std::optional<std::string> environment_of(uint32_t pid) {
  constexpr uint64_t kMostBytes = 4 << 20;
  auto text = base::read_file("/proc/" + std::to_string(pid) + "/environ", kMostBytes);
  return text.ok() && !text->empty() ? std::optional(std::move(*text)) : std::nullopt;
}

}  // namespace

void ProcessInnerAllocators::add(const schema::InnerAllocator& file) {
  const std::lock_guard lock(mutex_);
  if (files_.size() == kMostFiles || std::ranges::find(files_, file) != files_.end()) return;
  files_.push_back(file);
}

std::vector<schema::InnerAllocator> ProcessInnerAllocators::list() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

std::string ProcessInnerAllocators::raw_owner() const {
  const std::lock_guard lock(mutex_);
  for (const schema::InnerAllocator& file : files_) {
    if (std::ranges::find(file.families, "go") != file.families.end()) {
      return schema::owner_of_file(file.file);
    }
  }
  return "";
}

bool ProcessInnerAllocators::was_looked_at(const MappedCode& code) const {
  return looked_at_.size() == kMostLookedAt || looked_at_.contains(code.file + code.mapping.path);
}

void ProcessInnerAllocators::note_look(const MappedCode& code) {
  looked_at_.insert(code.file + code.mapping.path);
}

void InnerAllocators::look(uint32_t pid, const ProcTexts& texts, ProcessInnerAllocators& process) {
  if (!texts.has_session) return;
  for (const MappedCode& mapped : parse_code(texts.maps)) {
    if (mapped.is_made() || mapped.is_deleted || !mapped.mapping.path.starts_with('/')) continue;
    if (process.was_looked_at(mapped)) continue;
    const Families* const found = families_of(pid, mapped);
    if (found == nullptr) continue;
    process.note_look(mapped);
    if (found->empty()) continue;
    Families families = *found;
    const auto environment = environment_of(pid);
    std::erase_if(families, [&](const std::string& heap) {
      return schema::is_switched_off(heap, mapped.mapping.path, environment);
    });
    if (families.empty()) continue;
    process.add({mapped.mapping.path, families});
    const std::lock_guard lock(mutex_);
    const std::pair file(mapped.mapping.path, families);
    if (found_.size() == kMostFiles && !found_.contains(file)) continue;  // one file by many names
    std::set<uint32_t>& processes = found_[file];
    if (processes.size() < kMostProcesses) processes.insert(pid);
  }
}

std::vector<schema::ManifestUnrecorded> InnerAllocators::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<schema::ManifestUnrecorded> entries;
  for (const auto& [file, processes] : found_) {
    entries.push_back({file.first, "has " + schema::heaps_text(file.second) + " inside",
                       processes.size(), file.second});
  }
  return entries;
}

const InnerAllocators::Families* InnerAllocators::families_of(uint32_t pid,
                                                              const MappedCode& code) {
  const base::Descriptor file = open_as_mapped(pid, code);
  struct stat info = {};
  if (!file || fstat(file.get(), &info) != 0) return nullptr;
  const FileKey key{info.st_dev, info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  const auto known = known_.find(key);
  if (known != known_.end()) return &known->second;
  if (known_.size() == kMostFiles) return nullptr;
  known_[key] = schema::inner_heaps("/proc/self/fd/" + std::to_string(file.get()));
  return &known_[key];
}

}  // namespace heaptape::recorder
