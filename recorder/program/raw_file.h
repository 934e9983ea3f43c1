// A file, read with raw system calls.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {

// Owns its descriptor, which no exec inherits. One thread.
class RawFile {
 public:
  // For reading. Not valid() if it cannot be opened.
  RawFile(int folder, const char* path)
      : descriptor_(raw_syscall(SYS_openat, folder, as_long(path), O_RDONLY | O_CLOEXEC)) {}
  ~RawFile() {
    if (valid()) raw_syscall(SYS_close, descriptor_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  bool valid() const { return descriptor_ >= 0; }
  long descriptor() const { return descriptor_; }
  // The number of bytes read from `offset`, at most `bytes`; 0 if none can be read.
  size_t read(uint64_t offset, void* out, size_t bytes) const {
    size_t done = 0;
    while (done < bytes) {
      const long got =
          raw_syscall(SYS_pread64, descriptor_, as_long(static_cast<char*>(out) + done),
                      static_cast<long>(bytes - done), static_cast<long>(offset + done));
      if (got == -EINTR) continue;
      if (got <= 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }
  bool read_whole(uint64_t offset, void* out, size_t bytes) const {
    return read(offset, out, bytes) == bytes;
  }

 private:
  const long descriptor_;
};

}  // namespace heaptape::recorder
