// Sizes and counts as people type them, with or without a unit: the one parser for command-line
// options and parameters of models and scenarios. Gates, whose numbers may be fractions, share its
// units.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace heaptape::base {

struct Unit {
  std::string_view name;
  uint64_t factor;
  bool is_bytes;
};

// Names of all units, for messages.
inline constexpr char kUnitNames[] = "B KiB MiB GiB TiB KB MB GB TB k M G";

// KiB and the like are powers of 1024, KB and k powers of 1000. Null if there is no such unit.
const Unit* find_unit(std::string_view name);

// "4096", "64KiB", "1.5M": a number with an optional unit. Nothing unless the result is a whole
// number below 2^64.
std::optional<uint64_t> parse_quantity(std::string_view text);

// The same for values that are not sizes: without units of bytes.
std::optional<uint64_t> parse_count(std::string_view text);

// "1.5s", "200ms", "10m", "1h": a time in nanoseconds, below 2^63.
std::optional<uint64_t> parse_time(std::string_view text);

}  // namespace heaptape::base
