// The bytes of one fuzz input, taken from the front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace heaptape::fuzz {

// Past the end every byte is 0, so that a target needs no checks between the parts of a command.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  uint8_t byte() { return take<uint8_t>(); }
  uint64_t word() { return take<uint64_t>(); }  // little-endian
  std::string_view rest() {
    const std::string_view text(reinterpret_cast<const char*>(data_), left_);
    left_ = 0;
    return text;
  }

 private:
  template <typename T>
  T take() {
    T value = 0;
    const size_t size = left_ < sizeof value ? left_ : sizeof value;
    if (size != 0) std::memcpy(&value, data_, size);
    data_ += size;
    left_ -= size;
    return value;
  }

  const uint8_t* data_;
  size_t left_;
};

}  // namespace heaptape::fuzz
