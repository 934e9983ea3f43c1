// What heaptape writes as JSON: reports, diffs, statistics, manifests. Cap'n Proto's codec, but for
// integers of 64 bits. That makes strings of all, and sorting strings puts "9" behind "10"; here
// those that a double holds exactly are numbers. docs/metrics.md, "JSON".
#pragma once

#include <capnp/compat/json.h>
#include <capnp/dynamic.h>

#include <cstdint>
#include <string>

namespace heaptape::schema {

// Up to here every integer is a double, which is all that many readers of JSON know.
inline constexpr uint64_t kMaxJsonNumber = uint64_t{1} << 53;

// All of these are for the inside of guard_kj.

// A number, or beyond kMaxJsonNumber a string of digits.
void set_integer(capnp::JsonValue::Builder out, uint64_t number);
void set_integer(capnp::JsonValue::Builder out, int64_t number);

// Pretty-printed, with a newline at the end. Text that is not UTF-8 (a path may be) comes out with
// U+FFFD in its place. capnp::JsonCodec reads it back.
std::string json_text(capnp::DynamicStruct::Reader message);
// The same, without white space.
std::string compact_json_text(capnp::DynamicStruct::Reader message);
std::string json_text(capnp::JsonValue::Reader value);

}  // namespace heaptape::schema
