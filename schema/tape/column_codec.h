// The integer and address encodings of a tape's columns; both ends include this file so that they
// cannot drift apart. docs/tape-format.md describes each. Every chunk starts from a fresh state.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace heaptape::schema {

constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

inline constexpr size_t kMaxVarintBytes = 10;

// Spreads the low 56 bits of `value` over eight bytes, seven to each; gather() is the inverse.
// Three steps that halve the pieces: a loop over the bytes would mispredict its end on every other
// value.
constexpr uint64_t spread(uint64_t value) {
  value = (value & 0x000000000fffffff) | ((value & 0x00fffffff0000000) << 4);
  value = (value & 0x00003fff00003fff) | ((value & 0x0fffc0000fffc000) << 2);
  return (value & 0x007f007f007f007f) | ((value & 0x3f803f803f803f80) << 1);
}
constexpr uint64_t gather(uint64_t spread_value) {
  uint64_t value = spread_value;
  value = (value & 0x007f007f007f007f) | ((value & 0x7f007f007f007f00) >> 1);
  value = (value & 0x00003fff00003fff) | ((value & 0x3fff00003fff0000) >> 2);
  return (value & 0x000000000fffffff) | ((value & 0x0fffffff00000000) >> 4);
}
inline constexpr uint64_t kContinuationBits = 0x8080808080808080;

// Writes the varint at `out` and returns where it ends. Writes up to kMaxVarintBytes bytes, used or
// not. One jump depends on the length of most: for more than 14 bits.
inline uint8_t* write_varint(uint8_t* out, uint64_t value) {
  if (value < 1 << 14) [[likely]] {
    const uint64_t has_more = value >= 0x80 ? 1 : 0;
    const auto word = static_cast<uint16_t>((value & 0x7f) | has_more << 7 | value >> 7 << 8);
    std::memcpy(out, &word, sizeof word);
    return out + 1 + has_more;
  }
  if (value >> 56 != 0) [[unlikely]] {
    for (; value >= 0x80; value >>= 7) *out++ = static_cast<uint8_t>(value) | 0x80;
    *out++ = static_cast<uint8_t>(value);
    return out;
  }
  const auto bits = static_cast<uint32_t>(std::bit_width(value | 1));
  const uint32_t length = (bits * 9 + 64) / 64;  // a seventh, rounded up
  const uint64_t continuation = kContinuationBits & ((uint64_t{1} << (8 * (length - 1))) - 1);
  const uint64_t word = spread(value) | continuation;
  std::memcpy(out, &word, sizeof word);
  return out + length;
}

// A growing column of bytes. Takes memory as it is used: a process that does little has many small
// columns.
class ColumnWriter {
 public:
  void put(uint64_t value) {
    if (bytes_.size() - used_ < kMaxVarintBytes) [[unlikely]]
      grow(kMaxVarintBytes);
    used_ = static_cast<size_t>(write_varint(bytes_.data() + used_, value) - bytes_.data());
  }
  void put_bytes(std::span<const uint8_t> bytes);

  std::span<const uint8_t> bytes() const { return {bytes_.data(), used_}; }
  bool empty() const { return used_ == 0; }
  void clear() { used_ = 0; }

 private:
  [[gnu::noinline]] void grow(size_t more_bytes) {
    bytes_.resize(std::max({kFirstBytes, bytes_.size() * 2, used_ + more_bytes}));
  }

  static constexpr size_t kFirstBytes = 128;

  std::vector<uint8_t> bytes_;
  size_t used_ = 0;
};

inline void ColumnWriter::put_bytes(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  if (bytes_.size() - used_ < bytes.size()) grow(bytes.size());
  std::memcpy(bytes_.data() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
}

// Reads a column that may be hostile: every read says whether there was a value.
class ColumnReader {
 public:
  ColumnReader() = default;
  explicit ColumnReader(std::span<const uint8_t> bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // The next bytes, in place; null if there are fewer.
  const uint8_t* get_bytes(size_t count) {
    if (static_cast<size_t>(end_ - next_) < count) return nullptr;
    return std::exchange(next_, next_ + count);
  }
  // Fills `values`; false where get() would be for one of them.
  bool get_all(std::span<uint64_t> values);
  // False at the end of the column and for a varint of more than 64 bits.
  bool get(uint64_t& value) {
    if (end_ - next_ < 8) [[unlikely]]
      return get_slowly(value);
    uint64_t word;
    std::memcpy(&word, next_, sizeof word);
    const uint64_t ends = ~word & kContinuationBits;
    if (ends == 0) [[unlikely]]
      return get_slowly(value);
    const int last_bit = std::countr_zero(ends);  // the highest bit of the varint's last byte
    next_ += last_bit / 8 + 1;
    value = first_value(word, last_bit);
    return true;
  }
  bool at_end() const { return next_ == end_; }

 private:
  // Of a varint of at most 8 bytes at the beginning of `word`, whose last byte has that highest
  // bit.
  static uint64_t first_value(uint64_t word, int last_bit) {
    return gather(word & (~uint64_t{0} >> (63 - last_bit)) & ~kContinuationBits);
  }
  bool get_slowly(uint64_t& value) {
    uint64_t result = 0;
    for (int shift = 0; shift <= 63; shift += 7) {
      if (next_ == end_) return false;
      const uint8_t byte = *next_++;
      if (shift == 63 && byte > 1) return false;
      result |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) {
        value = result;
        return true;
      }
    }
    return false;
  }

  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
};

// Reads words of eight bytes and takes all that end in each: to look for the next value only when
// the length of the one before is known costs twice the time.
inline bool ColumnReader::get_all(std::span<uint64_t> values) {
  uint64_t* out = values.data();
  uint64_t* const end = out + values.size();
  while (out != end) {
    uint64_t word;
    if (end_ - next_ < 8) {
      if (!get_slowly(*out++)) return false;
      continue;
    }
    std::memcpy(&word, next_, sizeof word);
    uint64_t ends = ~word & kContinuationBits;
    if (ends == kContinuationBits && end - out >= 8) {  // small sizes, most of all
      for (int i = 0; i < 8; ++i) out[i] = next_[i];
      out += 8;
      next_ += 8;
      continue;
    }
    if (ends == 0) [[unlikely]] {
      if (!get_slowly(*out++)) return false;
      continue;
    }
    int used = 0;  // bits
    do {
      const int last_bit = std::countr_zero(ends);
      *out++ = first_value(word, last_bit);
      word = word >> last_bit >> 1;
      ends = ends >> last_bit >> 1;
      used += last_bit + 1;
    } while (ends != 0 && out != end);
    next_ += used / 8;
  }
  return true;
}

// Threads that predictions tell apart. Those that differ by a multiple of kThreadContexts share a
// context: worse prediction, same result.
inline constexpr size_t kThreadContexts = 16;

constexpr size_t thread_context(uint32_t thread) {
  return thread % kThreadContexts;
}

// Addresses as distances, in units, from a predicted one; 0 stands for NULL.
class AddressCode {
 public:
  static uint64_t encode(uint64_t address, uint64_t predicted, int unit_log2) {
    const auto distance = static_cast<int64_t>(address - predicted) >> unit_log2;
    return address == 0 ? 0 : zigzag(distance) + 1;
  }
  static uint64_t decode(uint64_t code, uint64_t predicted, int unit_log2) {
    if (code == 0) return 0;
    return predicted + (static_cast<uint64_t>(unzigzag(code - 1)) << unit_log2);
  }
};

// The last address of each thread context in a column.
class LastAddress {
 public:
  uint64_t& of(uint32_t thread) { return last_[thread_context(thread)]; }
  void reset() { last_ = {}; }

 private:
  std::array<uint64_t, kThreadContexts> last_{};
};

}  // namespace heaptape::schema
