// Owner of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace heaptape::base {

// Closes its descriptor when destroyed. Move-only; one thread. Errors of close() are ignored: a
// file whose content matters reports them by other means (see OutputFile::commit).
class Descriptor {
 public:
  Descriptor() = default;
  // Takes ownership; negative = none, as open() and others return on failure.
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // Gives the descriptor up without closing it.
  int release() { return std::exchange(fd_, -1); }
  // Preserves errno, so that an earlier failure can still be reported.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

}  // namespace heaptape::base
