// The words of one call in a ring. A record never crosses the end of a segment.
//
//   first word   address << 8 | has stack << 7 | stamped << 6 | op
//                (op: schema::Op)
// then, by the kind of the op
//   allocate   [stamp] size [alignment] [stack]         address = the new block, 0 = failed
//   resize     [end stamp, begin stamp] size old [stack]  address = the block after the call
//   release    [stamp]                                  address = the block given up
//
// A call that steers the allocator (schema::SteeringOp) is no op. It has the words
//
//   op << 8 | stamped << 6 | kSteeringOp   [stamp]   first argument   second argument
//
// Neither is a call that maps memory (schema::MappingOp). It has the words
//
//   address << 8 | has stack << 7 | stamped << 6 | kMappingOp
//   [stamp]   bytes   detail   caller << 8 | op   [stack]
//
// Nor is a fork, whose child's heap is what the calls before it left. It has the words
//
//   number << 8 | stamped << 6 | kForkOp   [stamp]              number = the child's pool
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
#include "schema/tape/mapping_op.h"
#include "schema/tape/op.h"
#include "schema/tape/steering_op.h"

namespace heaptape::recorder {

using schema::Op;
using schema::OpKind;

inline constexpr uint64_t kStampedFlag = 1u << 6;
inline constexpr uint64_t kOpMask = kStampedFlag - 1;
inline constexpr uint64_t kStackFlag = 1u << 7;
inline constexpr uint64_t kForkOp = 57;  // not an op, nor are the next five
inline constexpr uint64_t kMappingOp = 58;
inline constexpr uint64_t kSteeringOp = 59;
inline constexpr uint64_t kSegmentEndOp = 60;
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

constexpr uint64_t steering_word(schema::SteeringOp op, bool stamped) {
  return uint64_t{static_cast<uint8_t>(op)} << kAddressShift | (stamped ? kStampedFlag : 0) |
         kSteeringOp;
}

constexpr uint64_t mapping_word(uint64_t address, bool stamped, bool has_stack = false) {
  return address << kAddressShift | (has_stack ? kStackFlag : 0) | (stamped ? kStampedFlag : 0) |
         kMappingOp;
}

constexpr uint64_t fork_word(uint32_t number, bool stamped) {
  return uint64_t{number} << kAddressShift | (stamped ? kStampedFlag : 0) | kForkOp;
}

constexpr uint64_t time_mark(uint64_t ticks) {
  return ticks << kAddressShift | kTimeMarkOp;
}

// Where the parts of a record are, by the low byte of its first word.
struct RecordShape {
  uint8_t words = 0;    // 0: no record
  uint8_t size_at = 0;  // 0: it has none, here and below
  uint8_t alignment_at = 0;
  uint8_t old_address_at = 0;
  uint8_t stack_at = 0;
  bool is_stamped = false;
  bool has_more = false;  // than an address and a size
  OpKind kind = OpKind::kAllocate;
};

struct RecordShapes {
  RecordShape rows[256];
};

constexpr RecordShapes make_record_shapes() {
  RecordShapes shapes{};
  for (uint32_t low = 0; low < 256; ++low) {
    const auto op = static_cast<uint8_t>(low & kOpMask);
    if (!schema::is_valid_op(op)) continue;
    const schema::OpInfo& info = schema::op_info(static_cast<Op>(op));
    RecordShape& shape = shapes.rows[low];
    shape.kind = info.kind;
    shape.is_stamped = (low & kStampedFlag) != 0;
    uint8_t words = 1;
    if (shape.is_stamped) words += info.kind == OpKind::kResize ? 2 : 1;
    if (info.kind != OpKind::kRelease) shape.size_at = words++;
    if (info.aligned) shape.alignment_at = words++;
    if (info.kind == OpKind::kResize) shape.old_address_at = words++;
    if ((low & kStackFlag) != 0) shape.stack_at = words++;
    shape.words = words;
    shape.has_more = shape.alignment_at != 0 || shape.old_address_at != 0 || shape.stack_at != 0;
  }
  return shapes;
}

inline constexpr RecordShapes kRecordShapes = make_record_shapes();

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
// `address` the return address; for a call that steers the allocator, `address` has its op, and
// `size` and `old_address` the arguments; for one that maps memory, `address` and `size` are the
// range (any values), `alignment` has the detail, and `old_address` the caller << 8 | MappingOp;
// for a fork, `address` has its number, any value.
enum class ReadRecord : uint8_t {
  kRecord,
  kTimeMark,
  kFrame,
  kSteering,
  kMapping,
  kFork,
  kSegmentEnd,
  kCorrupt
};

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
  if (stored == kSteeringOp) [[unlikely]] {
    const bool is_stamped = (first & kStampedFlag) != 0;
    record.words = is_stamped ? 4 : 3;
    record.address = first >> kAddressShift;
    if (record.words > available || !schema::is_valid_steering_op(record.address))
      return ReadRecord::kCorrupt;
    record.stamp = is_stamped ? load_word(words + 1) : 0;
    record.size = load_word(words + record.words - 2);
    record.old_address = load_word(words + record.words - 1);
    return ReadRecord::kSteering;
  }
  if (stored == kForkOp) [[unlikely]] {
    const bool is_stamped = (first & kStampedFlag) != 0;
    record.words = is_stamped ? 2 : 1;
    if (record.words > available) return ReadRecord::kCorrupt;
    record.address = first >> kAddressShift;
    record.stamp = is_stamped ? load_word(words + 1) : 0;
    return ReadRecord::kFork;
  }
  if (stored == kMappingOp) [[unlikely]] {
    const bool is_stamped = (first & kStampedFlag) != 0;
    const bool has_stack = (first & kStackFlag) != 0;
    const uint32_t size_at = is_stamped ? 2 : 1;
    record.words = size_at + 3 + (has_stack ? 1 : 0);
    if (record.words > available) return ReadRecord::kCorrupt;
    record.address = first >> kAddressShift;
    record.stamp = is_stamped ? load_word(words + 1) : 0;
    record.size = load_word(words + size_at);
    record.alignment = load_word(words + size_at + 1);
    record.old_address = load_word(words + size_at + 2);
    record.stack = has_stack ? load_word(words + size_at + 3) : 0;
    if (schema::mapping_op_name(record.old_address & 0xff) == nullptr) return ReadRecord::kCorrupt;
    return ReadRecord::kMapping;
  }
  const RecordShape& shape = kRecordShapes.rows[first & 0xff];
  if (shape.words == 0 || shape.words > available) return ReadRecord::kCorrupt;
  const auto word_at = [words](uint8_t at) { return at != 0 ? load_word(words + at) : 0; };
  record.op = static_cast<Op>(stored);
  record.address = first >> kAddressShift;
  record.stamp = word_at(shape.is_stamped ? 1 : 0);
  const bool has_begin = shape.is_stamped && shape.kind == OpKind::kResize;
  record.begin_stamp = has_begin ? load_word(words + 2) : record.stamp;
  record.size = word_at(shape.size_at);
  record.alignment = word_at(shape.alignment_at);
  record.old_address = word_at(shape.old_address_at);
  record.stack = word_at(shape.stack_at);
  record.words = shape.words;
  return ReadRecord::kRecord;
}

}  // namespace heaptape::recorder
