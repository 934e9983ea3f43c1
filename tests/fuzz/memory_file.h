// A file without a disk behind it, for targets whose subject opens a path.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <span>
#include <string>

#include "base/check.h"
#include "base/descriptor.h"

namespace heaptape::fuzz {

// A regular file to whoever opens path(). One thread.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("fuzz", MFD_CLOEXEC)) { HEAPTAPE_CHECK(fd_); }

  void set(std::span<const uint8_t> content) {
    HEAPTAPE_CHECK(ftruncate(fd_.get(), 0) == 0);
    const ssize_t written = pwrite(fd_.get(), content.data(), content.size(), 0);
    HEAPTAPE_CHECK(written == static_cast<ssize_t>(content.size()));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  base::Descriptor fd_;
};

}  // namespace heaptape::fuzz
