// Events as text, for `heaptape dump` and as the oracle of tests. docs/tape-format.md, "Text".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/tape/event.h"
#include "schema/tape/stack.h"

namespace heaptape::schema {

enum class TextFormat : uint8_t { kText, kNdjson };

// Appends one line for the `number`-th call (1-based):
//   7 t0 realloc(0x5581c0, 100) = 0x5581f0
//   {"n":7,"thread":0,"op":"realloc","freed":"0x5581c0","size":100,"address":"0x5581f0"}
// and, where a stack or a time is given, " stack 3" or "stack":3, then " at 1.234567890" or
// "timeNs":1234567890 behind all that.
void append_event(std::string& out, TextFormat format, uint64_t number, const Event& event,
                  std::optional<uint64_t> time_ns = {}, FrameNumber stack = 0);

// Appends the frames of a stack, to follow the first event that has it:
//       inner (a.c:1)
//       main (a.c:2)
//   {"stack":3,"frames":["inner (a.c:1)","main (a.c:2)"]}
// `frames`: the innermost first, each fit to print.
void append_stack(std::string& out, TextFormat format, FrameNumber stack,
                  const std::vector<std::string>& frames);

// Appends the line of a thread that ended after so many calls:
//   7 t3 ends
//   {"n":7,"thread":3,"end":true}
void append_end(std::string& out, TextFormat format, const ThreadEnd& end);

// Appends the line of a call that steers the allocator, made after so many calls:
//   7 t0 mallopt(M_MMAP_THRESHOLD, 65536)
//   {"n":7,"thread":0,"steering":"mallopt","first":-3,"second":65536}
void append_steering(std::string& out, TextFormat format, const SteeringCall& call);

// Appends the line of a call that maps memory: its range, protection, flags or advice, and the
// number of its stack, unless that is 0:
//   7 t0 mmap(0x7f1200000000, 1048576, 0x3, 0x22) stack 12
//   {"n":7,"thread":0,"mapping":"mmap","begin":139714,"bytes":1048576,"protection":3,"flags":34}
void append_mapping_call(std::string& out, TextFormat format, const MappingCall& call);
// "mallopt(M_MMAP_THRESHOLD, 65536)"
std::string steering_text(const SteeringCall& call);

// Appends the line of a mark that was put after so many calls:
//   7 mark warm at 0.001234567
//   {"n":7,"mark":"warm","timeNs":1234567}
void append_mark(std::string& out, TextFormat format, const Mark& mark);

}  // namespace heaptape::schema
