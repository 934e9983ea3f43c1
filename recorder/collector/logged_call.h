// One call, between a ring and the tape: what the merge works on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "base/address/address_range.h"
#include "recorder/ring/record.h"
#include "schema/tape/event.h"
#include "schema/tape/stack.h"

namespace heaptape::recorder {

// A failed call changes none, and neither does a resize in place.
struct ChangedBlocks {
  uint64_t given_up = 0;    // the block that was live before the call and is not after it; 0: none
  uint64_t handed_out = 0;  // the block that is live after the call and was not before; 0: none
};

inline ChangedBlocks blocks_of(const schema::Event& event) {
  if (event.address == event.freed_address) return {};
  const bool gives_up = event.address != 0 || !schema::is_failed(event);
  return {gives_up ? event.freed_address : 0, event.address};
}

struct LoggedMapping {
  schema::MappingCall call;
  uint64_t caller = 0;  // the address to which it returns
};

struct LoggedFork {
  uint64_t number = 0;  // any value
  uint32_t thread = 0;  // that forks
};

struct LoggedCall {
  schema::Event event;  // as the tape will have it
  schema::FrameNumber stack = 0;
  ChangedBlocks blocks;
  uint64_t stamp = 0;        // when the call ended (a release: began); 0: it has no stamp
  uint64_t begin_stamp = 0;  // from here on the block given up may belong to another thread
  uint64_t ticks = 0;        // of the stamp, or of the time mark right before it; 0: neither
  // A call that is no event: then `event` has nothing.
  std::variant<std::monostate, schema::SteeringCall, LoggedMapping, LoggedFork> beside;

  bool is_event() const { return beside.index() == 0; }
};

inline LoggedCall to_logged_call(const Record& record, uint32_t thread, schema::FrameNumber stack) {
  LoggedCall call;
  call.stack = stack;
  call.stamp = record.stamp;
  call.begin_stamp = record.begin_stamp;
  call.ticks = record.stamp;
  schema::Event& event = call.event;
  event.op = record.op;
  event.thread = thread;
  event.size = record.size;
  event.alignment = record.alignment;
  if (schema::op_info(record.op).kind == OpKind::kRelease) {
    event.freed_address = record.address;
  } else {
    event.address = record.address;
    event.freed_address = record.old_address;
  }
  call.blocks = blocks_of(event);
  return call;
}

inline LoggedCall to_steering_call(const Record& record, uint32_t thread) {
  LoggedCall call;
  call.stamp = call.begin_stamp = record.stamp;
  call.beside = schema::SteeringCall{.thread = thread,
                                     .op = static_cast<schema::SteeringOp>(record.address),
                                     .first = static_cast<int64_t>(record.size),
                                     .second = static_cast<int64_t>(record.old_address)};
  return call;
}

inline LoggedCall to_fork(const Record& record, uint32_t thread) {
  LoggedCall call;
  call.stamp = call.begin_stamp = record.stamp;
  call.beside = LoggedFork{record.address, thread};
  return call;
}

inline LoggedCall to_mapping_call(const Record& record, uint32_t thread,
                                  schema::FrameNumber stack) {
  LoggedCall call;
  call.stamp = call.begin_stamp = record.stamp;
  const uint64_t begin = record.address;
  call.beside =
      LoggedMapping{{.thread = thread,
                     .op = static_cast<schema::MappingOp>(record.old_address & 0xff),
                     .range = {begin, begin + std::min(record.size, base::kAddressLimit - begin)},
                     .detail = record.alignment,
                     .stack = stack},
                    record.old_address >> kAddressShift};
  return call;
}

}  // namespace heaptape::recorder
