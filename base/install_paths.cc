#include "base/install_paths.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/elf_file.h"

namespace heaptape::base {

namespace {

// This program's file. Without /proc, as in some containers, the name that it was executed by:
// correct while the current directory does not change.
std::string own_path() {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  if (length > 0) return std::string(self, static_cast<size_t>(length));
  const auto* executed = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (executed == nullptr || realpath(executed, self) == nullptr) return "";
  return self;
}

}  // namespace

Result<std::string> find_private_file(const std::string& name) {
  std::string path = own_path();
  if (path.empty()) return Error::not_found("cannot find where heaptape is installed: mount /proc");
  path.resize(path.rfind('/'));
  path += "/../lib/heaptape/" + name;
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr) {
    return Error::not_found("part of heaptape is missing: there is no '" + path +
                            "'; reinstall heaptape");
  }
  path = resolved;
  if (access(resolved, R_OK) != 0) {
    return os_error("cannot read part of heaptape, '" + path + "'", errno);
  }
  const auto elf = ElfFile::open(path);
  if (!elf.is_native() || !elf.is_shared_object() || !elf.is_whole()) {
    return Error::not_found("part of heaptape is damaged: '" + path + "'; reinstall heaptape");
  }
  return path;
}

}  // namespace heaptape::base
