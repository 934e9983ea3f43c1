// Events as text, for `heaptape dump` and as the oracle of tests. docs/tape-format.md, "Text".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schema/tape/event.h"

namespace heaptape::schema {

enum class TextFormat : uint8_t { kText, kNdjson };

// Appends one line for the `number`-th call (1-based):
//   7 t0 realloc(0x5581c0, 100) = 0x5581f0
//   {"n":7,"thread":0,"op":"realloc","freed":"0x5581c0","size":100,"address":"0x5581f0"}
// and, where a time is given, " at 1.234567890" or "timeNs":1234567890 behind all that.
void append_event(std::string& out, TextFormat format, uint64_t number, const Event& event,
                  std::optional<uint64_t> time_ns = {});

// Appends the line of a thread that ended after so many calls:
//   7 t3 ends
//   {"n":7,"thread":3,"end":true}
void append_end(std::string& out, TextFormat format, const ThreadEnd& end);

// Appends the line of a mark that was put after so many calls:
//   7 mark warm at 0.001234567
//   {"n":7,"mark":"warm","timeNs":1234567}
void append_mark(std::string& out, TextFormat format, const Mark& mark);

}  // namespace heaptape::schema
