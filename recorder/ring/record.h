// How one call lies in a ring: a few 8-byte words, never across the end of a segment.
//
//   first word   address << 8 | stamped << 6 | op        (op: schema::Op; 0 fills up a segment)
//   then, by the kind of the op
//     allocate   [stamp] size [alignment]                address = the new block, 0 = failed
//     resize     [end stamp, begin stamp] size old       address = the block after the call
//     release    [stamp]                                 address = the block given up
//
// Stamps are there only once a process has had a second thread. Example, malloc(24) = 0x5581c0 with
// one thread: 0x00000000'5581c001 0x18. Free of the C++ run-time library.
#pragma once

#include <cstdint>

#include "recorder/ring/session_layout.h"
#include "schema/tape/op.h"

namespace heaptape::recorder {

using schema::Op;
using schema::OpKind;

inline constexpr uint64_t kStampedFlag = 1u << 6;
inline constexpr uint64_t kOpMask = kStampedFlag - 1;
inline constexpr int kAddressShift = 8;
inline constexpr uint32_t kMaxRecordWords = 5;

constexpr uint64_t first_word(Op op, uint64_t address, bool stamped) {
  return address << kAddressShift | (stamped ? kStampedFlag : 0) | static_cast<uint64_t>(op);
}

// A record read back. `stamp` orders records of different threads; 0 when there is none.
struct Record {
  Op op = Op::kMalloc;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t alignment = 0;
  uint64_t old_address = 0;  // of a resize
  uint64_t stamp = 0;        // when the call ended (release: began)
  uint64_t begin_stamp = 0;  // of a resize: its old block may be handed out again from here on
  uint32_t words = 0;        // its length in the ring
};

enum class ReadRecord : uint8_t { kRecord, kSegmentEnd, kCorrupt };

// Reads the record at `words`, of which `available` are valid (up to the end of the segment or the
// published head, whichever comes first).
inline ReadRecord read_record(const uint64_t* words, uint32_t available, Record& record) {
  const uint64_t first = words[0];
  if (first == 0) return ReadRecord::kSegmentEnd;
  const auto stored = static_cast<uint8_t>(first & kOpMask);
  if (!schema::is_valid_op(stored)) return ReadRecord::kCorrupt;
  record.op = static_cast<Op>(stored);
  record.address = first >> kAddressShift;
  const schema::OpInfo& info = schema::op_info(record.op);
  const bool stamped = (first & kStampedFlag) != 0;
  const uint32_t stamps = stamped ? (info.kind == OpKind::kResize ? 2 : 1) : 0;
  const uint32_t fields = info.kind == OpKind::kRelease                  ? 0
                          : info.kind == OpKind::kResize || info.aligned ? 2
                                                                         : 1;
  record.words = 1 + stamps + fields;
  if (record.words > available) return ReadRecord::kCorrupt;
  record.stamp = stamps > 0 ? words[1] : 0;
  record.begin_stamp = stamps > 1 ? words[2] : record.stamp;
  const uint64_t* rest = words + 1 + stamps;
  record.size = fields > 0 ? rest[0] : 0;
  record.alignment = info.aligned ? rest[1] : 0;
  record.old_address = info.kind == OpKind::kResize ? rest[1] : 0;
  return ReadRecord::kRecord;
}

}  // namespace heaptape::recorder
