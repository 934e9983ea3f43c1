// Owner of mapped memory.
#pragma once

#include <cstddef>
#include <utility>

#include "base/result.h"

namespace heaptape::base {

// Unmaps its memory when destroyed. Move-only; one thread.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  // The first `bytes` bytes of a file, readable and writable, shared with all who map it. `what` is
  // for the message.
  static Result<Mapping> shared(int fd, size_t bytes, const std::string& what);
  // The same, but what is written there is nobody else's.
  static Result<Mapping> copy(int fd, size_t bytes, const std::string& what);

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  Mapping(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
  static Result<Mapping> map(int fd, size_t bytes, int flags, const std::string& what);

  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace heaptape::base
