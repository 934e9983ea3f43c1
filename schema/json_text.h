// Writes heaptape's JSON: reports, diffs, statistics, manifests. Uses Cap'n Proto's codec, except
// for 64-bit integers. The codec makes all of them strings, and sorting strings puts "9" after
// "10"; here those that a double holds exactly are numbers. docs/metrics.md, "JSON".
#pragma once

#include <capnp/compat/json.h>
#include <capnp/dynamic.h>

#include <cstdint>
#include <string>

namespace heaptape::schema {

// Up to here every integer is a double, the only number that many JSON readers know.
inline constexpr uint64_t kMaxJsonNumber = uint64_t{1} << 53;

// All of these must be called inside guard_kj.

// A number, or, beyond kMaxJsonNumber, a string of digits.
void set_integer(capnp::JsonValue::Builder out, uint64_t number);
void set_integer(capnp::JsonValue::Builder out, int64_t number);

// Pretty-printed, with a newline at the end. Invalid UTF-8 (in a path, say) is replaced by U+FFFD.
// capnp::JsonCodec reads it back.
std::string json_text(capnp::DynamicStruct::Reader message);
// The same, without white space.
std::string compact_json_text(capnp::DynamicStruct::Reader message);
std::string json_text(capnp::JsonValue::Reader value);

}  // namespace heaptape::schema
