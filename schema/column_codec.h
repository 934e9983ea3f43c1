// The integer and address encodings of a tape's columns; both ends include this file so that they
// cannot drift apart. docs/tape-format.md describes each. Every chunk starts from a fresh state.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace heaptape::schema {

constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

inline constexpr size_t kMaxVarintBytes = 10;

// A growing column of bytes. `reserve_value` keeps room for one more varint, so that `put` is a
// store and an add.
class ColumnWriter {
 public:
  explicit ColumnWriter(size_t initial_bytes = 1 << 16) : bytes_(initial_bytes) {}

  void put_byte(uint8_t value) {
    reserve_value();
    bytes_[used_++] = value;
  }
  void put(uint64_t value) {
    reserve_value();
    uint8_t* out = bytes_.data() + used_;
    while (value >= 0x80) {
      *out++ = static_cast<uint8_t>(value) | 0x80;
      value >>= 7;
    }
    *out++ = static_cast<uint8_t>(value);
    used_ = static_cast<size_t>(out - bytes_.data());
  }

  std::span<const uint8_t> bytes() const { return {bytes_.data(), used_}; }
  void clear() { used_ = 0; }

 private:
  void reserve_value() {
    if (bytes_.size() - used_ < kMaxVarintBytes) [[unlikely]]
      bytes_.resize(bytes_.size() * 2);
  }

  std::vector<uint8_t> bytes_;
  size_t used_ = 0;
};

// Reads a column that may be hostile: every read says whether there was a value.
class ColumnReader {
 public:
  ColumnReader() = default;
  explicit ColumnReader(std::span<const uint8_t> bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool get_byte(uint8_t& value) {
    if (next_ == end_) return false;
    value = *next_++;
    return true;
  }
  // False at the end of the column and for a varint of more than 64 bits.
  bool get(uint64_t& value) {
    if (next_ == end_) return false;
    uint8_t byte = *next_++;
    uint64_t result = byte & 0x7f;
    for (int shift = 7; byte & 0x80; shift += 7) {
      if (next_ == end_ || shift > 63) return false;
      byte = *next_++;
      if (shift == 63 && byte > 1) return false;
      result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    }
    value = result;
    return true;
  }
  bool at_end() const { return next_ == end_; }

 private:
  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
};

// Threads and size classes that the address predictors tell apart. Threads that differ by a
// multiple of kThreadContexts share a context: worse prediction, same result.
inline constexpr size_t kThreadContexts = 16;
inline constexpr size_t kSizeClasses = 128;

constexpr size_t thread_context(uint32_t thread) {
  return thread % kThreadContexts;
}

// 0..64: sizes up to 1,024 in steps of 16; above, four classes a doubling; the last takes the rest.
constexpr size_t size_class(uint64_t size) {
  if (size <= 1024) return static_cast<size_t>((size + 15) / 16);
  const auto log2 = static_cast<uint64_t>(std::bit_width(size - 1) - 1);  // 1024 < size: >= 10
  const uint64_t quarter = ((size - 1) >> (log2 - 2)) & 3;
  const uint64_t index = 65 + (log2 - 10) * 4 + quarter;
  return static_cast<size_t>(index < kSizeClasses - 1 ? index : kSizeClasses - 1);
}

// Addresses as distances, in units, from a predicted one; 0 stands for NULL.
class AddressCode {
 public:
  static uint64_t encode(uint64_t address, uint64_t predicted, int unit_log2) {
    if (address == 0) return 0;
    const auto distance = static_cast<int64_t>(address - predicted) >> unit_log2;
    return zigzag(distance) + 1;
  }
  static uint64_t decode(uint64_t code, uint64_t predicted, int unit_log2) {
    if (code == 0) return 0;
    return predicted + (static_cast<uint64_t>(unzigzag(code - 1)) << unit_log2);
  }
};

// Predicts a new block where the last one of its size class and thread was; failing that, where
// the last block of any kind was.
class NewAddressPredictor {
 public:
  uint64_t predict(uint32_t thread, uint64_t size) const {
    const uint64_t same_class = last_[thread_context(thread)][size_class(size)];
    return same_class != 0 ? same_class : last_any_;
  }
  void update(uint32_t thread, uint64_t size, uint64_t address) {
    if (address == 0) return;
    last_[thread_context(thread)][size_class(size)] = address;
    last_any_ = address;
  }
  void reset() { *this = {}; }

 private:
  std::array<std::array<uint64_t, kSizeClasses>, kThreadContexts> last_{};
  uint64_t last_any_ = 0;
};

// The last address each thread (context) freed, or used in any way.
class LastAddress {
 public:
  uint64_t predict(uint32_t thread) const { return last_[thread_context(thread)]; }
  void update(uint32_t thread, uint64_t address) {
    if (address != 0) last_[thread_context(thread)] = address;
  }
  void reset() { last_ = {}; }

 private:
  std::array<uint64_t, kThreadContexts> last_{};
};

}  // namespace heaptape::schema
