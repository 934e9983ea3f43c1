// The words of one call in a ring. A record never crosses the end of a segment.
//
//   first word   address << 8 | has stack << 7 | stamped << 6 | op
//                (op: schema::Op)
// then, by the kind of the op
//   allocate   [stamp] size [alignment] [stack]         address = the new block, 0 = failed
//   resize     [end stamp, begin stamp] size old [stack]  address = the block after the call
//   release    [stamp]                                  address = the block given up
//
// In addition, the beginning of a segment has its time: one word, the TSC << 8 | kTimeMarkOp; a
// word kSegmentEndOp ends a segment that has no room for the next record; and each frame of a stack
// precedes the first stack that has it:
//
//   caller << 8 | kFrameOp    return address
//
// Frames of a ring are numbered from 1 in their order; a caller, or a stack, is such a number, and
// 0 is none. A return address below schema::kStackEnds, with caller 0, says why the stack was cut
// there. With schema::kGuessFlag, the frames further out were found by the frame pointer, though
// nothing says that the function keeps one. A ring has no more than kMostRingFrames of them.
//
// Records carry stamps once the process has had a second thread; from then on there are no more
// marks. Example, malloc(24) = 0x5581c0 with one thread: 0x00000000'5581c001 0x18. Free of the C++
// run-time library.
#pragma once

#include <cstdint>

#include "recorder/ring/session_layout.h"
#include "schema/tape/op.h"

namespace heaptape::recorder {

using schema::Op;
using schema::OpKind;

inline constexpr uint64_t kStampedFlag = 1u << 6;
inline constexpr uint64_t kOpMask = kStampedFlag - 1;
inline constexpr uint64_t kStackFlag = 1u << 7;
inline constexpr uint64_t kSegmentEndOp = 60;  // not an op, nor are the next two
inline constexpr uint64_t kFrameOp = 61;
inline constexpr uint64_t kTimeMarkOp = 62;
inline constexpr int kAddressShift = 8;
inline constexpr uint32_t kMaxRecordWords = 6;
inline constexpr uint32_t kMostRingFrames = 1u << 22;

constexpr uint64_t first_word(Op op, uint64_t address, bool stamped, bool has_stack = false) {
  return address << kAddressShift | (has_stack ? kStackFlag : 0) | (stamped ? kStampedFlag : 0) |
         static_cast<uint64_t>(op);
}

constexpr uint64_t frame_word(uint32_t caller) {
  return uint64_t{caller} << kAddressShift | kFrameOp;
}

constexpr uint64_t time_mark(uint64_t ticks) {
  return ticks << kAddressShift | kTimeMarkOp;
}

// A record as read. The meaning of `address` depends on the op (see above).
struct Record {
  Op op = Op::kMalloc;
  uint64_t address = 0;  // below 1 << 56
  uint64_t size = 0;
  uint64_t alignment = 0;
  uint64_t old_address = 0;  // for a resize; any value
  uint64_t stamp = 0;        // when the call ended (a release: began); 0: not stamped
  uint64_t begin_stamp = 0;  // for a resize: when it began; for any other op: `stamp`
  uint64_t stack = 0;        // any value; 0: none
  uint32_t words = 0;        // its length in the ring
};

// For a time mark, `stamp` has the low 56 bits of the TSC; for a frame, `stack` has the caller and
// `address` the return address.
enum class ReadRecord : uint8_t { kRecord, kTimeMark, kFrame, kSegmentEnd, kCorrupt };

// Reads a word that the producer may change at any time, once, so that the checked value is the one
// used.
inline uint64_t load_word(const uint64_t* word) {
  return *static_cast<const volatile uint64_t*>(word);
}

// Reads the record at `words`, of which `available`, at least 1, may be read: up to the end of the
// segment or to the published head, whichever comes first. A record that needs more is corrupt, and
// so is one with an op that does not exist; everything else is accepted.
inline ReadRecord read_record(const uint64_t* words, uint32_t available, Record& record) {
  const uint64_t first = load_word(words);
  if (first == kSegmentEndOp) return ReadRecord::kSegmentEnd;
  const auto stored = static_cast<uint8_t>(first & kOpMask);
  if (stored == kTimeMarkOp) [[unlikely]] {
    record.stamp = first >> kAddressShift;
    record.words = 1;
    return ReadRecord::kTimeMark;
  }
  if (stored == kFrameOp) [[unlikely]] {
    if (available < 2) return ReadRecord::kCorrupt;
    record.stack = first >> kAddressShift;
    record.address = load_word(words + 1);
    record.words = 2;
    return ReadRecord::kFrame;
  }
  if (!schema::is_valid_op(stored)) return ReadRecord::kCorrupt;
  record.op = static_cast<Op>(stored);
  record.address = first >> kAddressShift;
  const schema::OpInfo& info = schema::op_info(record.op);
  const bool stamped = (first & kStampedFlag) != 0;
  const uint32_t stamps = stamped ? (info.kind == OpKind::kResize ? 2 : 1) : 0;
  const uint32_t fields = info.kind == OpKind::kRelease                  ? 0
                          : info.kind == OpKind::kResize || info.aligned ? 2
                                                                         : 1;
  const bool has_stack = (first & kStackFlag) != 0;
  record.words = 1 + stamps + fields + (has_stack ? 1 : 0);
  if (record.words > available) return ReadRecord::kCorrupt;
  record.stamp = stamps > 0 ? load_word(words + 1) : 0;
  record.begin_stamp = stamps > 1 ? load_word(words + 2) : record.stamp;
  const uint64_t* rest = words + 1 + stamps;
  record.size = fields > 0 ? load_word(rest) : 0;
  record.alignment = info.aligned ? load_word(rest + 1) : 0;
  record.stack = has_stack ? load_word(rest + fields) : 0;
  record.old_address = info.kind == OpKind::kResize ? load_word(rest + 1) : 0;
  return ReadRecord::kRecord;
}

}  // namespace heaptape::recorder
