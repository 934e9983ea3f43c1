// One call, between a ring and the tape: what the merge works on.
#pragma once

#include <cstdint>

#include "recorder/ring/record.h"
#include "schema/tape/event.h"
#include "schema/tape/stack.h"

namespace heaptape::recorder {

struct LoggedCall {
  schema::Event event;  // as the tape will have it
  schema::FrameNumber stack = 0;
  uint64_t given_up = 0;     // the block that was live before the call and is not after it; 0: none
  uint64_t handed_out = 0;   // the block that is live after the call and was not before; 0: none
  uint64_t stamp = 0;        // when the call ended (a release: began); 0: it has no stamp
  uint64_t begin_stamp = 0;  // from here on `given_up` may belong to another thread
  uint64_t ticks = 0;        // of the stamp, or of the time mark right before it; 0: neither
};

// A failed call changes no block, and neither does a resize in place.
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
  if (event.address == event.freed_address) return call;
  call.handed_out = event.address;
  if (event.address != 0 || !schema::is_failed(event)) call.given_up = event.freed_address;
  return call;
}

}  // namespace heaptape::recorder
