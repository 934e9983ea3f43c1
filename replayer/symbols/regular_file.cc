#include "replayer/symbols/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/display_text.h"

namespace heaptape::replayer {

base::Result<base::Descriptor> open_regular_file(const std::string& path) {
  const std::string what = "cannot read " + base::quoted(path);
  const base::Descriptor name(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!name || fstat(name.get(), &info) != 0) return base::os_error(what, errno);
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    return base::Error::target(what + ": it is not a file with content");
  }
  const std::string link = "/proc/self/fd/" + std::to_string(name.get());
  base::Descriptor file(open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return base::os_error(what, errno);
  return file;
}

}  // namespace heaptape::replayer
