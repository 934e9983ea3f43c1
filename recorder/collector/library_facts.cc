#include "recorder/collector/library_facts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
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

}  // namespace

base::Descriptor open_as_seen_by(uint32_t pid, const std::string& path) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (!path.starts_with('/')) {
    return base::Descriptor(open((process + "/cwd/" + path).c_str(), O_PATH | O_CLOEXEC));
  }
  const base::Descriptor root(open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const open_how how = {.flags = O_PATH | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_IN_ROOT};
  const long file = syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how);
  if (file != -1 || (errno != ENOSYS && errno != EPERM)) {
    return base::Descriptor(static_cast<int>(file));
  }
  // Before Linux 5.6.
  return base::Descriptor(open((process + "/root" + path).c_str(), O_PATH | O_CLOEXEC));
}

AllocatorFacts LibraryFacts::complete(const AllocatorFacts& said, uint32_t pid) {
  AllocatorFacts facts = said;
  const std::string path = text_of(said.path);
  if (path.empty() || !text_of(said.family).empty()) return facts;
  const base::Descriptor file = open_as_seen_by(pid, path);
  if (!file) return facts;
  const schema::MallocLibrary& library = identify(file.get());
  copy_text(facts.family, library.family.c_str());
  copy_text(facts.version, library.version.c_str());
  return facts;
}

const schema::MallocLibrary& LibraryFacts::identify(int file) {
  struct stat status = {};
  fstat(file, &status);
  const FileKey key{status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  if (known_.size() == kMostFiles) known_.clear();
  const auto [known, is_new] = known_.try_emplace(key);
  if (is_new) {
    known->second = schema::identify_malloc_library("/proc/self/fd/" + std::to_string(file));
  }
  return known->second;
}

}  // namespace heaptape::recorder
