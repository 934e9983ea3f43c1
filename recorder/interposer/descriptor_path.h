// A path that leads to an open file.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "recorder/ring/bounded_text.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {

// The file's own path if /proc knows it, else "/proc/self/fd/N". Raw system calls only.
class DescriptorPath {
 public:
  enum class Look : bool { kNo, kYes };

  // kNo makes no system call, and never gives the file's own path.
  DescriptorPath(int descriptor, Look look) {
    write_number(descriptor);
    if (look == Look::kYes) read_own_path(descriptor);
  }
  const char* get() const { return path_; }

 private:
  static constexpr char kFolder[] = "/proc/self/fd/";
  static constexpr size_t kBytes = 1024;

  void write_number(int descriptor) {
    std::memcpy(path_, kFolder, sizeof kFolder);
    *write_decimal(path_ + sizeof kFolder - 1, static_cast<unsigned>(descriptor)) = 0;
  }

  void read_own_path(int descriptor) {
    char own[kBytes];
    const long length = raw_syscall(SYS_readlink, as_long(path_), as_long(own), kBytes - 1);
    if (length <= 0) return;
    own[length] = 0;
    if (leads_to(own, descriptor)) std::memcpy(path_, own, static_cast<size_t>(length) + 1);
  }

  // The file may have another name by now, or none.
  static bool leads_to(const char* path, int descriptor) {
    struct stat there{}, open{};
    return raw_syscall(SYS_newfstatat, AT_FDCWD, as_long(path), as_long(&there), 0) == 0 &&
           raw_syscall(SYS_fstat, descriptor, as_long(&open)) == 0 && there.st_dev == open.st_dev &&
           there.st_ino == open.st_ino;
  }

  char path_[kBytes];
};

}  // namespace heaptape::recorder
