#include "base/mapping.h"

#include <sys/mman.h>

#include <cerrno>

namespace heaptape::base {

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Result<Mapping> Mapping::shared(int fd, size_t bytes, const std::string& what) {
  return map(fd, bytes, MAP_SHARED, what);
}

Result<Mapping> Mapping::copy(int fd, size_t bytes, const std::string& what) {
  return map(fd, bytes, MAP_PRIVATE, what);
}

Result<Mapping> Mapping::map(int fd, size_t bytes, int flags, const std::string& what) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) return os_error(what, errno);
  return Mapping(data, bytes);
}

}  // namespace heaptape::base
