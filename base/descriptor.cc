#include "base/descriptor.h"

#include <cerrno>

namespace heaptape::base {

void Descriptor::reset(int fd) {
  const int old = std::exchange(fd_, fd);
  if (old < 0) return;
  const int saved = errno;
  close(old);
  errno = saved;
}

}  // namespace heaptape::base
