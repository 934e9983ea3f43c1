// Reads DWARF numbers from untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace heaptape::recorder {

// How pointers are encoded, DW_EH_PE_* (Linux Standard Base, "DWARF Exception Header Encoding"):
// the lower four bits give the width, the next three the base.
inline constexpr uint8_t kPointerAbsolute = 0x00;
inline constexpr uint8_t kPointerFormatMask = 0x0f;
inline constexpr uint8_t kPointerOmitted = 0xff;

// Past the end, and after anything that makes no sense, every number is 0 and ok() is false for
// good: callers check once, at the end.
class DwarfCursor {
 public:
  DwarfCursor() = default;
  // `address` is that of the first byte in the program's memory. The bytes outlive the cursor.
  DwarfCursor(std::span<const uint8_t> bytes, uint64_t address)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()), address_(address) {}

  bool ok() const { return ok_; }
  // True if nothing is left, or nothing that makes sense.
  bool done() const { return next_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - next_); }
  // The address of the next byte.
  uint64_t address() const { return address_; }

  uint8_t byte() { return number<uint8_t>(); }
  // Little-endian, of the width of T.
  template <typename T>
  T number() {
    if (left() < sizeof(T)) {
      fail();
      return 0;
    }
    T value;
    std::memcpy(&value, next_, sizeof value);
    advance(sizeof value);
    return value;
  }
  // LEB128. Bits beyond 64 are dropped.
  uint64_t uleb() {
    if (next_ != end_ && *next_ < 0x80) return byte();
    return long_uleb();
  }
  int64_t sleb();
  // Makes relative pointers absolute. Fails for a pointer relative to anything but its own place,
  // and for an indirect one.
  uint64_t pointer(uint8_t encoding);
  // Skips a pointer, whatever its base.
  void skip_pointer(uint8_t encoding);
  void skip(uint64_t bytes);
  // The next `bytes` bytes, which this cursor skips.
  DwarfCursor part(uint64_t bytes);
  void fail() {
    ok_ = false;
    next_ = end_;
  }

 private:
  void advance(size_t bytes) {
    next_ += bytes;
    address_ += bytes;
  }
  uint64_t long_uleb();
  uint64_t pointer_number(uint8_t format);

  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint64_t address_ = 0;
  bool ok_ = true;
};

}  // namespace heaptape::recorder
