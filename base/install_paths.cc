#include "base/install_paths.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

namespace heaptape::base {

Result<std::string> find_private_file(const std::string& name) {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  if (length <= 0) return os_error("cannot read /proc/self/exe", errno);
  std::string path(self, static_cast<size_t>(length));
  path.resize(path.rfind('/'));
  path += "/../lib/heaptape/" + name;
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr) {
    return Error::not_found("a part of heaptape is missing: there is no '" + path +
                            "'; install it again");
  }
  return std::string(resolved);
}

}  // namespace heaptape::base
