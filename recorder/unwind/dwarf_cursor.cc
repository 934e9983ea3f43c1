#include "recorder/unwind/dwarf_cursor.h"

namespace heaptape::recorder {
namespace {

// Widths.
constexpr uint8_t kUleb = 0x01;
constexpr uint8_t kUdata2 = 0x02;
constexpr uint8_t kUdata4 = 0x03;
constexpr uint8_t kUdata8 = 0x04;
constexpr uint8_t kSigned = 0x08;
constexpr uint8_t kSleb = 0x09;
constexpr uint8_t kSdata2 = 0x0a;
constexpr uint8_t kSdata4 = 0x0b;
constexpr uint8_t kSdata8 = 0x0c;
// Bases.
constexpr uint8_t kBaseMask = 0xf0;
constexpr uint8_t kToItself = 0x10;
constexpr uint8_t kAligned = 0x50;  // absolute, at a multiple of its width

constexpr uint64_t kPointerBytes = 8;

}  // namespace

uint64_t DwarfCursor::long_uleb() {
  uint64_t value = 0;
  for (unsigned shift = 0; next_ != end_; shift += 7) {
    const uint8_t next = byte();
    if (shift < 64) value |= uint64_t{next & 0x7fu} << shift;
    if (next < 0x80) return value;
  }
  fail();
  return 0;
}

int64_t DwarfCursor::sleb() {
  uint64_t value = 0;
  for (unsigned shift = 0; next_ != end_;) {
    const uint8_t next = byte();
    if (shift < 64) value |= uint64_t{next & 0x7fu} << shift;
    shift += 7;
    if (next >= 0x80) continue;
    if ((next & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  fail();
  return 0;
}

uint64_t DwarfCursor::pointer_number(uint8_t format) {
  switch (format) {
    case kPointerAbsolute:
    case kSigned:
    case kUdata8:
    case kSdata8:
      return number<uint64_t>();
    case kUleb:
      return uleb();
    case kSleb:
      return static_cast<uint64_t>(sleb());
    case kUdata2:
      return number<uint16_t>();
    case kUdata4:
      return number<uint32_t>();
    case kSdata2:
      return static_cast<uint64_t>(int64_t{number<int16_t>()});
    case kSdata4:
      return static_cast<uint64_t>(int64_t{number<int32_t>()});
    default:
      fail();
      return 0;
  }
}

uint64_t DwarfCursor::pointer(uint8_t encoding) {
  const uint64_t place = address_;
  switch (encoding & kBaseMask) {
    case kPointerAbsolute:
      return pointer_number(encoding & kPointerFormatMask);
    case kToItself: {
      const uint64_t distance = pointer_number(encoding & kPointerFormatMask);
      return ok_ ? place + distance : 0;
    }
    case kAligned: {
      skip(-place % kPointerBytes);
      return number<uint64_t>();
    }
    default:
      fail();
      return 0;
  }
}

void DwarfCursor::skip_pointer(uint8_t encoding) {
  if (encoding == kPointerOmitted) return;
  if ((encoding & kBaseMask) == kAligned) {
    pointer(encoding);
  } else {
    pointer_number(encoding & kPointerFormatMask);
  }
}

void DwarfCursor::skip(uint64_t bytes) {
  if (bytes > left()) {
    fail();
  } else {
    advance(bytes);
  }
}

DwarfCursor DwarfCursor::part(uint64_t bytes) {
  if (bytes > left()) {
    fail();
    return {};
  }
  const DwarfCursor result({next_, static_cast<size_t>(bytes)}, address_);
  advance(bytes);
  return result;
}

}  // namespace heaptape::recorder
