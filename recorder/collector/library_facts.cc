#include "recorder/collector/library_facts.h"

#include <sys/stat.h>

#include <cstring>
#include <string>

#include "recorder/ring/bounded_text.h"

namespace heaptape::recorder {
namespace {

constexpr size_t kMostFiles = 1024;

// As the process wrote it, which may lack the 0.
template <size_t kBytes>
std::string text_of(const char (&shared)[kBytes]) {
  return {shared, strnlen(shared, kBytes - 1)};
}

std::string seen_from_here(uint32_t pid, const std::string& path) {
  const bool is_absolute = path.starts_with('/');
  return "/proc/" + std::to_string(pid) + (is_absolute ? "/root" : "/cwd/") + path;
}

}  // namespace

AllocatorFacts LibraryFacts::complete(const AllocatorFacts& said, uint32_t pid) {
  AllocatorFacts facts = said;
  const std::string path = text_of(said.path);
  if (path.empty() || !text_of(said.family).empty()) return facts;
  const std::string file = seen_from_here(pid, path);
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return facts;
  const FileKey key{status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  if (known_.size() == kMostFiles) known_.clear();
  const auto [known, is_new] = known_.try_emplace(key);
  if (is_new) known->second = schema::identify_malloc_library(file);
  copy_text(facts.family, known->second.family.c_str());
  copy_text(facts.version, known->second.version.c_str());
  return facts;
}

}  // namespace heaptape::recorder
